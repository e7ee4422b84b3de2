import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import type { ClusterService } from '#manager/clusters/cluster-service.ts'
import type { WatchedCluster } from './watched-cluster.ts'

/** What the API asks of clusters that are only watched. What would change one is refused. */
export function watchingService(clusters: () => readonly WatchedCluster[]): ClusterService {
  const find = (name: string): WatchedCluster => {
    const all = clusters()
    const found = all.find(({ adoption }) => adoption.cluster === name)
    if (found !== undefined) return found
    const names = all.map(({ adoption }) => adoption.cluster).join(', ')
    throw new RegentError(
      'REGENT_NOT_FOUND',
      `there is no cluster ${name} that is watched; there is ${names || 'none'}`,
    )
  }
  return {
    leads: true,
    list: () => clusters().map((cluster) => cluster.view()),
    // Judged by looks, and by no record: orchestrator's interface, which asks this, is not served for these.
    known: () => [],
    async annotate(name) {
      find(name)
      throw new RegentError('REGENT_REFUSED', `${name} is only watched: nothing is kept of what people say of it`)
    },
    view: (name) => find(name).view(),
    topology: (name) => find(name).topology(),
    explain: (name) => find(name).explain(),
    agents: async (name) => find(name).agents(),
    recoveries: (name) => find(name).recoveries,
    recovery(name, id) {
      const all = find(name).recoveries
      const found = all.find((recovery) => recovery.id === id)
      if (found === undefined)
        throw new RegentError('REGENT_NOT_FOUND', `there is no recovery ${id}; the newest is ${all[0]?.id ?? 'none'}`)
      return found
    },
    async operate(name, operation) {
      find(name)
      throw new RegentError(
        'REGENT_REFUSED',
        say`${name} is only watched: ${operation} would change its servers, and nothing of them is changed`,
        { remedy: 'Do it by hand, or with the tool that manages these servers now.' },
      )
    },
    subscribe: (name, listener) => find(name).subscribe(listener),
  }
}

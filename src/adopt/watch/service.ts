import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import type { Clock } from '#common/ports/ports.ts'
import { annotated } from '#manager/clusters/annotated.ts'
import type { ClusterService } from '#manager/clusters/cluster-service.ts'
import { hostsOf } from '../adoption.ts'
import { changeOfNotes, resultOf } from './operations.ts'
import type { WatchedCluster } from './watched-cluster.ts'

/** What the API asks of clusters that are only watched. What would change their servers is refused. */
export function watchingService(clusters: () => readonly WatchedCluster[], clock: Clock): ClusterService {
  const find = (name: string): WatchedCluster => {
    const all = clusters()
    const found = all.find(({ adoption }) => adoption.cluster === name)
    if (found !== undefined) return found
    const names = all.map(({ adoption }) => adoption.cluster).join(', ')
    throw new RegentError(
      'REGENT_NOT_FOUND',
      say`there is no cluster ${name} that is watched; there is ${names || say`none`}`,
    )
  }
  return {
    leads: true,
    list: () => clusters().map((cluster) => cluster.view()),
    known: () => clusters().map((cluster) => cluster.known()),
    annotate: async (name, change) => find(name).changeNotes((notes) => annotated(notes, change)),
    view: (name) => find(name).view(),
    topology: (name) => find(name).topology(),
    explain: (name) => find(name).explain(),
    agents: async (name) => find(name).agents(),
    async askAboutStore(name) {
      throw new RegentError('REGENT_REFUSED', say`${find(name).adoption.cluster} is only watched, and has no backups`)
    },
    recoveries: (name) => find(name).recoveries,
    recovery(name, id) {
      const all = find(name).recoveries
      const found = all.find((recovery) => recovery.id === id)
      if (found === undefined)
        throw new RegentError(
          'REGENT_NOT_FOUND',
          say`there is no recovery ${id}; the newest is ${all[0]?.id ?? say`none`}`,
        )
      return found
    },
    async operate(name, operation, request) {
      const cluster = find(name)
      const { adoption, notes } = cluster
      const instances = hostsOf(adoption).map(({ instance }) => instance)
      const asked = { cluster: adoption.cluster, instances, notes, wallMs: clock.wallMs() }
      const change = changeOfNotes(operation, request, asked)
      if (!request.dryRun) await cluster.changeNotes(change.change)
      return resultOf(change, request.dryRun)
    },
    subscribe: (name, listener) => find(name).subscribe(listener),
  }
}

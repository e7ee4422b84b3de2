import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { analyse } from '#failover/decide.ts'
import type { Recovery } from '#failover/protocol/notes.ts'
import { annotated } from './annotated.ts'
import type { ClusterService, NamedByHost } from './cluster-service.ts'
import { agentsField, groupField, placeField, unknownField, wayOutOf } from './cluster-views.ts'
import type { ManagedCluster } from './managed-cluster.ts'

/**
 * What the API asks, answered by the clusters' loops. On Kubernetes a cluster is named `<namespace>.<name>`, and by its
 * bare name where that is unique.
 *
 * @param named whom a name of the platform's network leads to
 */
export function serviceFor(
  clusters: () => readonly ManagedCluster[],
  leads: () => boolean,
  named?: (cluster: string, host: string) => NamedByHost | undefined,
): ClusterService {
  const find = (name: string): ManagedCluster => {
    const all = clusters()
    const found =
      all.find((cluster) => cluster.name === name) ?? only(all.filter((cluster) => cluster.name.endsWith(`.${name}`)))
    if (found === undefined)
      throw new RegentError(
        'REGENT_NOT_FOUND',
        say`there is no cluster ${name}; there is ${all.map((cluster) => cluster.name).join(', ') || say`none`}`,
      )
    return found
  }
  const recoveries = (name: string): readonly Recovery[] => find(name).recoveries
  return {
    get leads() {
      return leads()
    },
    list: () => clusters().map((cluster) => cluster.view()),
    known: () =>
      clusters().map(({ name, loop }) => ({
        ...loop.input(),
        name,
        ...(named && { atHost: (host: string) => named(name, host) }),
      })),
    async annotate(name, change) {
      const { loop } = find(name)
      annotated(loop.notes, change)
      await loop.changeNotes((notes) => annotated(notes, change))
    },
    view: (name) => find(name).view(),
    topology: (name) => find(name).topology(),
    agents: async (name) => find(name).agents(),
    askAboutStore: async (name, question, asked) => find(name).askAboutStore(question, asked),
    explain(name) {
      const { loop, remarks, routerField } = find(name)
      const { decision, record } = loop
      const reasons = [...remarks, ...(decision?.reasons ?? [])]
      return {
        sentence: decision?.sentence ?? 'this manager does not lead',
        blocked: decision?.blocked ?? false,
        ...wayOutOf(loop.input(), decision),
        ...placeField(loop.input()),
        ...agentsField(loop.input()),
        ...(decision === null ? {} : unknownField(loop.input())),
        reasons,
        ...routerField,
        analyses: decision === null ? [] : analyse(loop.input()),
        ...groupField(loop.input()),
        record: record ?? null,
      }
    },
    recoveries,
    recovery(name, id) {
      const found = recoveries(name).find((recovery) => recovery.id === id)
      if (found === undefined)
        throw new RegentError(
          'REGENT_NOT_FOUND',
          say`there is no recovery ${id}; the newest is ${recoveries(name)[0]?.id ?? say`none`}`,
        )
      return found
    },
    operate: async (name, operation, request) => find(name).operations.perform(operation, request),
    subscribe: (name, listener) => find(name).subscribe(listener),
  }
}

function only<Item>(items: readonly Item[]): Item | undefined {
  return items.length === 1 ? items[0] : undefined
}

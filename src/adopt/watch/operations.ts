import type { OperationResult } from '#api-contract/operation-result.ts'
import type { OperationName, OperationRequest } from '#api-contract/operations.ts'
import { RegentError } from '#common/errors/errors.ts'
import { say, type Sentence } from '#common/sentence/sentence.ts'
import { describeDowntime, downtimeOf, withDowntime, withoutDowntime } from '#failover/judge/downtime.ts'
import type { ClusterNotes } from '#failover/protocol/notes.ts'

/** What an operation changes of the notes of a cluster that is only watched, and what is said of that. */
export interface NotesChange {
  readonly change: (notes: ClusterNotes) => ClusterNotes
  readonly sentence: Sentence
}

interface Asked {
  readonly cluster: string
  readonly instances: readonly string[]
  readonly notes: ClusterNotes
  readonly wallMs: number
}

type Performer<N extends OperationName> = (asked: Asked, request: OperationRequest<N>) => NotesChange

/** Operations that touch no server. */
const performers: { readonly [N in OperationName]?: Performer<N> } = {
  pause: ({ wallMs }, { reason }) => ({
    change: (notes) => ({ ...notes, paused: { reason: reason || 'by a person', wallMs, by: 'person' } }),
    sentence: say`paused: Regent only watches, and decides nothing anyway`,
  }),
  resume: () => ({ change: (notes) => ({ ...notes, paused: null }), sentence: say`resumed` }),
  downtime(asked, { instance, forMs, reason, owner }) {
    mustExist(asked, instance)
    const begun = { instance, untilWallMs: asked.wallMs + forMs, reason, owner }
    return {
      change: (notes) => withDowntime(notes, begun, asked.wallMs),
      sentence: say`${instance} is in ${describeDowntime(begun)}`,
    }
  },
  'end-downtime'(asked, { instance }) {
    const present = downtimeOf(asked, instance)
    if (present === undefined) mustExist(asked, instance)
    return {
      change: (notes) => withoutDowntime(notes, instance, asked.wallMs),
      sentence: present === undefined ? say`${instance} is not in downtime` : say`${instance} is no longer in downtime`,
    }
  },
}

/** Throws `REGENT_REFUSED` for what would change servers, and `REGENT_NOT_FOUND` for an instance that is not there. */
export function changeOfNotes<N extends OperationName>(
  operation: N,
  request: OperationRequest<N>,
  asked: Asked,
): NotesChange {
  const perform: Performer<N> | undefined = performers[operation]
  if (perform !== undefined) return perform(asked, request)
  throw new RegentError(
    'REGENT_REFUSED',
    say`${asked.cluster} is only watched: ${operation} would change its servers, and Regent does not do that there`,
    { remedy: 'Do it by hand, or have the cluster managed by "regent adopt manage".' },
  )
}

export function resultOf({ sentence }: NotesChange, isDryRun: boolean): OperationResult {
  return {
    done: !isDryRun,
    dryRun: isDryRun,
    sentence: isDryRun ? `would be so: ${String(sentence)}` : String(sentence),
  }
}

function mustExist({ cluster, instances }: Asked, instance: string): void {
  if (!instances.includes(instance))
    throw new RegentError(
      'REGENT_NOT_FOUND',
      say`${cluster} has no instance ${instance}; it has ${instances.join(', ')}`,
    )
}

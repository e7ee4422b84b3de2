import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { longestAnnotations, type Annotations } from '#failover/protocol/annotations.ts'
import type { ClusterNotes } from '#failover/protocol/notes.ts'

/**
 * Without any the field is absent: earlier versions of Regent read such notes. Throws `REGENT_TOO_LARGE` where that is
 * more than is kept.
 */
export function annotated(notes: ClusterNotes, change: (said: Annotations) => Annotations): ClusterNotes {
  const { annotations = {}, ...rest } = notes
  const said = change(annotations)
  const { length } = JSON.stringify(said)
  if (length > longestAnnotations)
    throw new RegentError(
      'REGENT_TOO_LARGE',
      say`tags, pools and acknowledgements of the cluster would take ${length} characters; allowed are ${longestAnnotations}: remove some first`,
    )
  return Object.keys(said).length === 0 ? rest : { ...rest, annotations: said }
}

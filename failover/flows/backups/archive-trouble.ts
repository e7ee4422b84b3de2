import { duration, say, text, type Said } from '#common/sentence/sentence.ts'
import { instanceOf } from '#topology/snapshot/member.ts'
import { liveView, type Situation } from '#failover/judge/situation.ts'

/** An archive that is behind by so much is told of, and by several of its turns: a store may be slow for a moment. */
const tellMs = 60_000
const turns = 6

/** What keeps the archive of binlogs from holding all that was committed; '' where nothing does, or none is wanted. */
export function archiveTrouble({ spec, snapshot, record }: Situation): Said {
  const everyMs = (spec.backup?.archive.everySeconds ?? 0) * 1_000
  const primary = instanceOf(record.primary)
  const seen = liveView(snapshot, record.primary)?.observation.binlogArchive
  if (everyMs === 0 || seen === undefined) return ''
  const { behindMs, hole, trouble } = seen
  if (trouble !== '') return say`binlogs of ${primary} are not shipped to the archive of backups: ${text(trouble)}`
  if (behindMs !== null && behindMs > Math.max(tellMs, everyMs * turns))
    return say`the archive of backups is ${duration(behindMs)} behind ${primary}: so much would be lost with the whole cluster`
  return hole === '' ? '' : say`${text(hole)}`
}

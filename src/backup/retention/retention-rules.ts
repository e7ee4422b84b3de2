import { counted, say, time, type Sentence } from '#common/sentence/sentence.ts'
import type { BackupName } from '../objects/backup-name.ts'
import type { Manifest } from '../objects/manifest.ts'

/**
 * The number of backups that stay: the newest ones; the newest of a day, for so many days that have one; and the newest
 * of a week. Days and weeks are those of UTC, and a week begins on Monday. Days without a backup are not counted: a
 * schedule that failed for a week deletes nothing.
 */
export interface Retention {
  readonly last: number
  readonly days: number
  readonly weeks: number
}

/** Whether a backup stays, and why. */
export interface Verdict {
  readonly stays: boolean
  readonly why: Sentence
}

const dayMs = 86_400_000
/** 1970-01-01 was a Thursday. */
const dayOf = ({ startedAtMs }: Manifest): number => Math.floor(startedAtMs / dayMs)
const weekOf = (manifest: Manifest): number => Math.floor((dayOf(manifest) + 3) / 7)

/** Backups that were restored once. */
export interface Proven {
  readonly verified: ReadonlySet<BackupName>
  /** Backups that are said to be verified, also where nobody need believe that. */
  readonly claimed?: ReadonlySet<BackupName>
}

/** A verdict on each whole backup. The newest backup and the newest verified backup stay, whatever the rule. */
export function judgeWhole(
  manifests: readonly Manifest[],
  { verified, claimed }: Proven,
  rule: Retention,
): ReadonlyMap<BackupName, Verdict> {
  const newestFirst = manifests.toSorted((one, other) => (one.name < other.name ? 1 : -1))
  const proven = newestFirst.find(({ name }) => verified.has(name))
  const reasons = new Map<BackupName, Sentence>()
  const keep = (manifest: Manifest | undefined, why: (name: BackupName) => Sentence) => {
    if (manifest !== undefined && !reasons.has(manifest.name)) reasons.set(manifest.name, why(manifest.name))
  }
  if (newestFirst.length === 1) keep(newestFirst[0], (name) => say`backup ${name} is the only whole one`)
  keep(proven, (name) => say`backup ${name} is the newest that was verified`)
  // A rehearsal from before the key may be all that was ever proven.
  if (proven === undefined)
    keep(
      newestFirst.find(({ name }) => claimed?.has(name) === true),
      (name) => say`backup ${name} is the newest of which it is said that it was verified, which no key signed`,
    )
  for (const manifest of newestFirst.slice(0, Math.max(1, rule.last)))
    keep(manifest, (name) => say`backup ${name} is one of the newest (${Math.max(1, rule.last)} stay)`)
  for (const [day, manifest] of newestOf(newestFirst, dayOf, rule.days))
    keep(manifest, (name) => say`backup ${name} is the newest of ${dateOf(day)}`)
  for (const [week, manifest] of newestOf(newestFirst, weekOf, rule.weeks))
    keep(manifest, (name) => say`backup ${name} is the newest of the week from ${dateOf(week * 7 - 3)}`)
  return new Map(newestFirst.map(({ name }) => [name, verdictOn(name, reasons.get(name), rule)]))
}

function verdictOn(name: BackupName, why: Sentence | undefined, { last, days, weeks }: Retention): Verdict {
  if (why !== undefined) return { stays: true, why }
  const beyond = say`the newest ${last}, of ${counted(days, 'day')} and of ${counted(weeks, 'week')}`
  return { stays: false, why: say`backup ${name} is beyond what stays: ${beyond}` }
}

/** The newest backup of each span, for the newest `count` spans that have one. */
function newestOf(newestFirst: readonly Manifest[], spanOf: (manifest: Manifest) => number, count: number) {
  const newest = new Map<number, Manifest>()
  for (const manifest of newestFirst) if (!newest.has(spanOf(manifest))) newest.set(spanOf(manifest), manifest)
  return [...newest].slice(0, count)
}

function dateOf(day: number) {
  return time(new Date(day * dayMs).toISOString().slice(0, 10))
}

/** What a transaction left behind, by its number; of each kind apart. */
export type Seen = ReadonlyMap<string, ReadonlyMap<number, string>>

/** One transaction that a client tried. Times are milliseconds of the machine's clock. */
export interface Entry {
  readonly kind: string
  readonly id: number
  readonly beganMs: number
  /** Null where nobody knows whether the transaction took place. */
  readonly ackedMs: number | null
  readonly gtid: string | null
  /** What is found where the transaction took place, all of it; null where only the server could say. */
  readonly left: string | null
}

/** What was asked of a restore. */
export interface Moment {
  readonly words: readonly string[]
  /** All that was acknowledged before this is there. */
  readonly fromMs: number
  /** Nothing that began after this is there. */
  readonly toMs: number
  readonly has?: Entry
  readonly lacks?: Entry
}

/** Up to a whole second, which is in. */
export function untilSecond(second: number): Moment {
  const time = new Date(second * 1_000).toISOString().replace('.000Z', 'Z')
  return { words: ['--until', time], fromMs: second * 1_000, toMs: (second + 1) * 1_000 }
}

export function untilEntry(entry: Acked): Moment {
  return { words: ['--until-gtid', entry.gtid], fromMs: entry.beganMs, toMs: entry.ackedMs, has: entry }
}

export function beforeEntry(entry: Acked): Moment {
  return { words: ['--before', entry.gtid], fromMs: entry.beganMs, toMs: entry.ackedMs, lacks: entry }
}

export const newest: Moment = { words: [], fromMs: Infinity, toMs: Infinity }

/** A transaction whose place in the history is known. */
export interface Acked extends Entry {
  readonly ackedMs: number
  readonly gtid: string
}

export function isAcked(entry: Entry): entry is Acked {
  return entry.ackedMs !== null && entry.gtid !== null
}

/** What is wrong with a restored cluster; empty where everything is as the diary has it. */
export function judged(diary: readonly Entry[], seen: Seen, moment: Moment): readonly string[] {
  const wrong = diary.flatMap((entry) => wrongWith(entry, seen.get(entry.kind)?.get(entry.id), moment))
  const known = new Set(diary.map(nameOf))
  const strange = [...seen].flatMap(([kind, rows]) =>
    [...rows.keys()].map((id) => nameOf({ kind, id })).filter((name) => !known.has(name)),
  )
  return [...wrong, ...strange.map((name) => `${name} was never written`)]
}

function wrongWith(entry: Entry, found: string | undefined, moment: Moment): readonly string[] {
  const name = nameOf(entry)
  if (found === undefined) return isRequired(entry, moment) ? [`${name} is not there`] : []
  if (isForbidden(entry, moment)) return [`${name} is there`]
  return entry.left === null || entry.left === found ? [] : [`${name} is not whole: ${found}, not ${entry.left}`]
}

function isRequired(entry: Entry, { fromMs, has }: Moment): boolean {
  return entry === has || (entry.ackedMs !== null && entry.ackedMs < fromMs)
}

function isForbidden(entry: Entry, { toMs, lacks }: Moment): boolean {
  return entry === lacks || entry.beganMs > toMs
}

function nameOf({ kind, id }: Pick<Entry, 'kind' | 'id'>): string {
  return `${kind} ${id}`
}

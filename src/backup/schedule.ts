import { Cron } from 'croner'
import { describeError, RegentError } from '#common/errors/errors.ts'
import { say, text, type Said, type Sentence } from '#common/sentence/sentence.ts'

/** A schedule: cron's five fields (or `@daily` and the like), by the clock of a time zone. */
export interface Schedule {
  readonly cron: string
  /** A name of the IANA database, such as `Europe/Berlin`. */
  readonly timeZone: string
}

/** A schedule has no names for seconds, years or "at start". A date would be one run and no schedule. */
const form = /^(@(yearly|annually|monthly|weekly|daily|midnight|hourly)|\S+( +\S+){4})$/i

/**
 * The clock of a zone shows some times twice, and some never. A schedule for certain times of the day has no `*` in
 * minutes and hours. Such a schedule runs once where the clock shows the time twice. The run comes at the end of the
 * gap where the clock never shows the time.
 */
function reader({ cron, timeZone }: Schedule): Cron {
  return new Cron(cron.trim(), { timezone: timeZone, mode: '5-part', fixedTimeRule: 'no-wildcard' })
}

/** A schedule that can be read, and its run after the last moment that was asked for. */
interface Read {
  readonly cron: Cron
  next: { readonly afterMs: number; readonly atMs: number } | null
}

/**
 * Read schedules are kept. To read a schedule takes a millisecond, and each decision about a cluster asks for the same
 * again.
 */
const known = new Map<string, Read>()
const mostKnown = 64

function keyOf({ cron, timeZone }: Schedule): string {
  return `${timeZone} ${cron}`
}

function keep(schedule: Schedule, cron: Cron): void {
  if (known.size >= mostKnown) known.clear()
  known.set(keyOf(schedule), { cron, next: null })
}

/** Why this can be no schedule; '' where it can. `what` names the schedule: `backup.schedule`. */
export function whyBadSchedule(what: string, schedule: Schedule): Said {
  if (known.has(keyOf(schedule))) return ''
  if (!isTimeZone(schedule.timeZone))
    return say`${what} is for time zone ${quoted(schedule.timeZone)}, which is unknown: name one such as UTC or Europe/Berlin`
  if (!form.test(schedule.cron.trim()))
    return say`${what} is ${quoted(schedule.cron)}: write five fields (minute, hour, day, month, day of week) as in "0 3 * * *"`
  try {
    const cron = reader(schedule)
    if (cron.nextRun(aMoment) === null) return neverIn(what, schedule)
    keep(schedule, cron)
    return ''
  } catch (error) {
    return say`${what} is ${quoted(schedule.cron)}, which cannot be read: ${text(plain(describeError(error)))}`
  }
}

/**
 * Any moment does: a schedule that has a run has one in the years behind it, even a schedule of the 29th of February.
 */
const aMoment = new Date(Date.UTC(2026, 0, 1))

function neverIn(what: string, { cron }: Schedule): Sentence {
  return say`${what} is ${quoted(cron)}, a day that no year has: nothing would ever run`
}

/** The first run after a moment, in milliseconds. Throws `REGENT_BAD_REQUEST` for a text that is no schedule. */
export function nextRunMs(schedule: Schedule, afterMs: number): number {
  const why = whyBadSchedule('the schedule', schedule)
  if (why !== '') throw new RegentError('REGENT_BAD_REQUEST', why)
  const read = known.get(keyOf(schedule))
  if (read === undefined) return Infinity
  // The library looks from the second of its argument on.
  if (read.next?.afterMs !== afterMs)
    read.next = { afterMs, atMs: read.cron.nextRun(new Date(afterMs))?.getTime() ?? Infinity }
  return read.next.atMs
}

/** The wish of a schedule at a moment. */
export interface Due {
  /** True where a run, or several, should have begun in the meantime: one run makes up for all of them. */
  readonly isDue: boolean
  /** The time since when a run is due; where none is due, the time of the next run. */
  readonly atMs: number
}

/**
 * @param sinceMs the begin of the last run, whatever its end; before the first run, the time when the schedule was
 * made. A run that was begun by hand counts: nobody wants two within minutes
 */
export function dueRun(schedule: Schedule, sinceMs: number, nowMs: number): Due {
  const atMs = nextRunMs(schedule, sinceMs)
  return { isDue: atMs <= nowMs, atMs }
}

function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '' && name !== ''
  } catch {
    return false
  }
}

function quoted(words: string): Sentence {
  return say`"${text(words.slice(0, 60))}"`
}

function plain(message: string): string {
  return message.replace(/^Cron\w+: /, '').replace(/\.$/, '')
}

import { Cron } from 'croner'
import { describeError, RegentError } from '#common/errors/errors.ts'
import { say, text, type Said, type Sentence } from '#common/sentence/sentence.ts'

/** When something is done: cron's five fields (or `@daily` and the like), by the clock of a time zone. */
export interface Schedule {
  readonly cron: string
  /** A name of the IANA database, such as `Europe/Berlin`. */
  readonly timeZone: string
}

/** cron has no names for seconds, years or "at start"; a date would be one run and no schedule. */
const form = /^(@(yearly|annually|monthly|weekly|daily|midnight|hourly)|\S+( +\S+){4})$/i

/**
 * The clock of a zone shows some times twice, and some never. What is at certain times of the day (no `*` in minutes
 * and hours) runs once where the clock shows that time twice, and at the end of the gap where the clock never shows it.
 */
function reader({ cron, timeZone }: Schedule): Cron {
  return new Cron(cron.trim(), { timezone: timeZone, mode: '5-part', fixedTimeRule: 'no-wildcard' })
}

/** One that can be read, and its run after the moment that was asked for last. */
interface Read {
  readonly cron: Cron
  next: { readonly afterMs: number; readonly atMs: number } | null
}

/** To read a schedule takes a millisecond, and each decision about a cluster asks for the same again. */
const known = new Map<string, Read>()
const mostKnown = 64

function keyOf({ cron, timeZone }: Schedule): string {
  return `${timeZone} ${cron}`
}

function keep(schedule: Schedule, cron: Cron): void {
  if (known.size >= mostKnown) known.clear()
  known.set(keyOf(schedule), { cron, next: null })
}

/** Why this can be no schedule; '' where it can. `what` names it: `backup.schedule`. */
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

/** Any: a schedule that has a run has one in the years behind it, also one of the 29th of February. */
const aMoment = new Date(Date.UTC(2026, 0, 1))

function neverIn(what: string, { cron }: Schedule): Sentence {
  return say`${what} is ${quoted(cron)}, a day that no year has: nothing would ever run`
}

/** The first run after a moment, in milliseconds. Throws `REGENT_BAD_REQUEST` where it is no schedule. */
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

/** What a schedule wants now. */
export interface Due {
  /** A run, or several, were to begin in the meantime: one run makes up for all of them. */
  readonly isDue: boolean
  /** Since when; where nothing is due, when the next run begins. */
  readonly atMs: number
}

/**
 * @param sinceMs when the last run began, whatever came of it; before the first one, when the schedule was made. A run
 *   that was begun by hand counts: nobody wants two within minutes
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

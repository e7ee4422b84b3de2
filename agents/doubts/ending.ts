import { unlessLate } from '#common/ports/unless-late.ts'
import { say, text, type Sentence } from '#common/sentence/sentence.ts'
import { lifeOf } from '../instance/life.ts'
import { describeError } from '#common/errors/errors.ts'
import { learn, type Learner } from '../instance/learn.ts'
import type { Parts } from '../instance/parts.ts'
import { keepUnsettled, type DoubtParts } from './unsettled.ts'
import type { Ending } from '../ports/volume.ts'

type EndingParts = DoubtParts & Pick<Parts, 'answersAlone' | 'notices' | 'timings' | 'volume' | 'world'>

/**
 * Looks how a primary's mysqld ended *before* anybody is told that it did: a stop by another hand may have acknowledged
 * what no replica holds, and a manager that heard of the death alone would revoke through the replicas at once
 * (docs/why/safety.md, "A stop nobody ordered"). What cannot be told counts as such a stop. Never rejects, and waits
 * for no disk for long: what is not on disk yet is shown all the same.
 */
export async function judgeEndingFirst(parts: EndingParts): Promise<void> {
  const { file, answersAlone } = parts
  if (!answersAlone(file.current)) return
  const ending = (await soonEnough(parts, glance(parts))) ?? noAnswer
  if (ending.how === 'crashed') return
  const seen = say`was not ended by a crash nor by Regent`
  if (await soonEnough(parts, keepTail(parts, seen, ending))) learn(parts, { fact: 'filesChanged' })
}

const noAnswer: Ending = { how: 'unknown', sentence: 'its disk does not answer' }

/** Undefined where the disk is late. */
function soonEnough<T>({ world, timings }: Pick<Parts, 'timings' | 'world'>, work: Promise<T>): Promise<T | undefined> {
  return unlessLate(world.timers, timings.lookIntoLogMs, work)
}

/** Never rejects. Resolves to whether that is news, and on disk. */
async function keepTail(
  parts: DoubtParts & Pick<Parts, 'notices'>,
  seen: Sentence,
  { sentence }: Ending,
): Promise<boolean> {
  const { notices } = parts
  try {
    if (!(await keepUnsettled(parts))) return false
    notices.add(
      'UnsettledTail',
      say`mysqld ${seen}: ${text(sentence)}; its last writes may have been acknowledged and are kept`,
    )
    return true
  } catch (error) {
    notices.failed('UnsettledTail', say`the end of mysqld could not be stored`, error)
    return false
  }
}

type SilenceWatchParts = Learner &
  Pick<Parts, 'answersAlone' | 'changed' | 'file' | 'notices' | 'process' | 'timings' | 'volume' | 'world'>

/**
 * The same while its process lives. A server that does not answer any more, or is stopped, may be shutting down by
 * another hand, which takes seconds and acknowledges what waits. So no silence is shown that began or went on after the
 * last look into its error log, and what that says is shown with it: a manager never hears of the one without the
 * other. (What is shown need not be on disk yet: an agent that dies first finds the same in the log again.) Such a
 * shutdown is cut short: what it acknowledged is in its binlog, and clients wait for a primary.
 */
export class SilenceWatch {
  readonly #parts: SilenceWatchParts
  #looking = false
  #again = false
  /** A disk that answers nothing is asked once: calls that hang take the threads by which names are looked up, too. */
  #hanging: Promise<Ending> | null = null
  #glances = 0

  constructor(parts: SilenceWatchParts) {
    this.#parts = parts
  }

  /** To be called whenever the server was found silent or stopped. */
  look(): void {
    this.#again = true
    if (!this.#looking) void this.#lookUntilDone()
  }

  async #lookUntilDone(): Promise<void> {
    this.#looking = true
    while (this.#again) {
      this.#again = false
      await this.#lookOnce()
    }
    this.#looking = false
  }

  async #lookOnce(): Promise<void> {
    const { process, world, changed, notices } = this.#parts
    if (!this.#isToBeLookedInto()) return
    const { pid } = process
    const beganMs = world.clock.monotonicMs()
    // A disk that answers nothing is a reason to fail over, and must not hide one.
    const ending = await soonEnough(this.#parts, this.#glance())
    if (process.pid !== pid) return
    const kept = this.#doubt(ending)
    learn(this.#parts, { fact: 'silenceSeen', silenceSeenUpToMs: beganMs })
    changed()
    if (ending?.how !== 'stopped') return
    await soonEnough(this.#parts, kept)
    await process
      .kill()
      .catch((error: unknown) => notices.failed('UnsettledTail', say`mysqld could not be killed`, error))
  }

  #isToBeLookedInto(): boolean {
    const { file, process, answersAlone } = this.#parts
    return answersAlone(file.current) && (process.state === 'running' || process.state === 'stopped')
  }

  async #glance(): Promise<Ending> {
    const mine = (this.#glances += 1)
    if (this.#hanging !== null) await this.#hanging
    // Nobody waits any more.
    if (mine !== this.#glances) return noAnswer
    this.#hanging = glance(this.#parts)
    return this.#hanging.finally(() => (this.#hanging = null))
  }

  async #doubt(ending: Ending | undefined): Promise<unknown> {
    if (ending?.how === 'stopped') {
      learn(this.#parts, { fact: 'stoppedByOthers' })
      return keepTail(this.#parts, say`is being stopped by another hand and is ended now`, ending)
    }
    // The server may answer again and be settled by a marker: nothing else is remembered of this.
    return ending?.how === 'unknown' && keepTail(this.#parts, say`does not answer, and may be stopping`, ending)
  }
}

/** Milliseconds of silence that may be shown of a primary: as much as was looked into. */
export function shownSilenceMs({
  observer,
  doubts,
  file,
  world,
  answersAlone,
}: Pick<Parts, 'answersAlone' | 'doubts' | 'file' | 'observer' | 'world'>): number {
  const { silentMs } = observer
  if (silentMs === 0 || !answersAlone(file.current)) return silentMs
  return Math.max(0, silentMs - (world.clock.monotonicMs() - doubts.silenceSeenUpToMs))
}

/** A stop (SIGSTOP) is shown once it was looked into, and a death once it is known how it came. */
export function isEndingUnseen({
  process,
  doubts,
  file,
  answersAlone,
}: Pick<Parts, 'answersAlone' | 'doubts' | 'file' | 'process'>): boolean {
  if (!answersAlone(file.current)) return false
  if (process.state === 'stopped') return doubts.silenceSeenUpToMs < process.changedAtMs
  return (process.state === 'dead' || process.state === 'exiting') && !doubts.endingJudged
}

/** The server is known to be stopped by another hand, or may be: what it says was acknowledged proves nothing. */
export async function mayBeEnding(parts: Pick<Parts, 'course' | 'process' | 'volume'>): Promise<boolean> {
  return lifeOf(parts).isStoppedByOthers || (await glance(parts)).how === 'stopped'
}

function glance({ volume }: Pick<Parts, 'volume'>): Promise<Ending> {
  return volume.glanceAtEnding().catch((error: unknown) => ({ how: 'unknown', sentence: describeError(error) }))
}

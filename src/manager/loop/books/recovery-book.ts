import type { Place } from '#common/sentence/command.ts'
import { printed, say, Sentence } from '#common/sentence/sentence.ts'
import type { PrimaryRoute } from '#common/ports/platform.ts'
import type { Clock, Random } from '#common/ports/ports.ts'
import { analyse } from '#failover/decide.ts'
import type { DecisionInput } from '#failover/judge/situation.ts'
import type { CommitAction, Decision, FlowKind } from '#failover/protocol/decision.ts'
import { isNothing, noLoss, type Loss, type Recovery, type TimelineEntry } from '#failover/protocol/notes.ts'
import type { ClusterRecord } from '#failover/protocol/record.ts'
import { instanceOf } from '#topology/snapshot/member.ts'
import { goneOnWith, isEndedIn, orphansIn } from './orphans.ts'
import { abbreviated } from '#common/text/words.ts'
import { describeOpening } from '#topology/snapshot/opening.ts'
import type { Observation } from '#topology/snapshot/observation.ts'
import type { Snapshot } from '#topology/snapshot/snapshot.ts'

export interface RecoveryStart {
  readonly kind: FlowKind
  readonly sentence: string
  /** What is wrong; asked only where a recovery begins. */
  readonly analysis: () => string
  readonly record: ClusterRecord | undefined
}

/** What a decision was made of. */
type Seen = Pick<DecisionInput, 'record' | 'snapshot' | 'published' | 'requests'>

/**
 * Entries kept of the beginning and of the end of a timeline. The timeline of a recovery that goes on for hours, with
 * orders that are refused again and again, stays as short.
 */
const firstKept = 20
const lastKept = 20
/** An opening that takes less is over before anybody could read of it. */
const toldAfterMs = 1_000

/** What whoever waits hears besides what the notes keep. */
export interface EndedRecovery extends Recovery {
  /** Undone because a deadline passed, or an order had no answer in time. */
  readonly timedOut: boolean
  /** Ids of the requests that it was the answer to. */
  readonly requests: readonly string[]
  /** The sentence says what to type. */
  readonly namesCommand: boolean
  /** So long writes were interrupted: before a switchover hooks run while the primary takes writes. */
  readonly outageMs: number
}

interface Open extends EndedRecovery {
  readonly beganMs: number
  /** Into the recovery, until when writes went on; null while they do. */
  readonly writesUntilMs: number | null
  readonly leftOut: number
  /** A replication group was formed anew: that may end with the primary of before. */
  readonly formsAnew: boolean
  /** A person had the primary of before go on. */
  readonly isAnswered: boolean
  /** Another manager began the recovery, and this manager has committed nothing for it. */
  readonly isTakenUp: boolean
}

/** What the notes know, and who asked. */
function withoutOwn(open: Open): EndedRecovery {
  const { beganMs, writesUntilMs, leftOut, formsAnew, isAnswered, isTakenUp, ...recovery } = open
  return recovery
}

/** What the notes keep. */
export function toFile({ timedOut, requests, namesCommand, outageMs, ...recovery }: EndedRecovery): Recovery {
  return recovery
}

/** The timeline with one more entry. An entry in the middle says how many are left out, since when. */
function longer({ timeline, leftOut }: Open, entry: TimelineEntry): Pick<Open, 'timeline' | 'leftOut'> {
  const all = [...timeline, entry]
  if (all.length <= firstKept + lastKept + 1) return { timeline: all, leftOut }
  const now = leftOut + (leftOut === 0 ? 2 : 1)
  const gap = { atMs: all[firstKept]?.atMs ?? 0, what: `${now} steps left out` }
  return { timeline: [...all.slice(0, firstKept), gap, ...all.slice(firstKept + 2)], leftOut: now }
}

/** Keeps the timeline of the recovery that is under way: every step with its monotonic milliseconds since detection. */
export class RecoveryBook {
  readonly #clock: Clock
  readonly #random: Random
  #waitedInEpoch: number | null = null
  #open: Open | null = null

  constructor(clock: Clock, random: Random) {
    this.#clock = clock
    this.#random = random
  }

  /** As it is filed while it goes on. */
  get current(): Recovery | null {
    if (this.#open === null) return null
    return toFile(withoutOwn(this.#open))
  }

  /** Opens, continues and ends the recovery that decisions are steps of. @returns what ended */
  keep(decision: Decision, seen: DecisionInput): EndedRecovery | null {
    const { flow, sentence } = decision
    const { record, snapshot, published } = seen
    this.#takeUp(seen)
    if (flow !== null) {
      const ended = this.begin({ kind: flow, sentence, analysis: () => worstIn(seen) ?? sentence, record })
      if (this.#open?.timeline.length === 0) this.note(`noticed: ${sentence}`)
      this.#answers(decision, seen)
      return ended
    }
    this.waits(record, snapshot)
    this.#answers(decision, seen)
    if (decision.stopped !== undefined) return this.end('undone', decision.stopped)
    if (this.#open === null || record === undefined || !isWhole(record, snapshot, published)) return null
    return this.end(outcomeOf(this.#open), this.#open.isTakenUp ? endUnseen(record) : undefined)
  }

  /** Goes on with one that another manager began, and forgets what another manager has ended. */
  #takeUp(seen: DecisionInput): void {
    if (this.#open !== null && isEndedIn(seen.notes, this.#open)) this.#open = null
    const [orphan] = this.#open === null ? orphansIn(seen.notes, false) : []
    if (orphan === undefined) return
    const { record } = seen
    const moved = record !== undefined && record.epoch > orphan.fromEpoch
    this.#open = {
      ...orphan,
      ...goneOnWith(orphan, { nowMs: this.#clock.monotonicMs(), wallMs: seen.wallMs }),
      ...(moved ? { to: record.primary, toEpoch: record.epoch } : {}),
      ...{
        writesUntilMs: 0,
        outageMs: 0,
        leftOut: 0,
        formsAnew: moved,
        isAnswered: false,
        isTakenUp: true,
        timedOut: false,
        requests: [],
        namesCommand: false,
      },
    }
  }

  /**
   * Begins one unless one of that kind is under way. A switchover that turns into a failover ends as undone. Returns
   * what ended by that.
   */
  begin(start: RecoveryStart): EndedRecovery | null {
    if (this.#open?.kind === start.kind) return null
    const ended = this.#open === null ? null : this.end('abandoned', `became a ${start.kind}`)
    const { record } = start
    this.#open = {
      id: this.#random.hex(12),
      kind: start.kind,
      startedWallMs: this.#clock.wallMs(),
      analysis: start.analysis(),
      sentence: start.sentence,
      from: record?.primary ?? null,
      to: null,
      fromEpoch: record?.epoch ?? 0,
      toEpoch: null,
      outcome: 'running',
      timeline: [],
      beganMs: this.#clock.monotonicMs(),
      writesUntilMs: start.kind === 'switchover' ? null : 0,
      outageMs: 0,
      leftOut: 0,
      formsAnew: false,
      isAnswered: false,
      isTakenUp: false,
      timedOut: false,
      requests: [],
      namesCommand: false,
    }
    return ended
  }

  /** Notes whom the recovery under way is the answer to: whoever asks hears of no other one. */
  #answers(decision: Decision, seen: Seen): void {
    if (this.#open === null) return
    const asked = this.#open.kind === 'switchover' ? switchoversIn(decision, seen) : failoversIn(seen)
    this.#open = { ...this.#open, requests: [...new Set([...this.#open.requests, ...asked])] }
  }

  /** Adds a step that ended now. */
  note(what: string): void {
    if (this.#open === null) return
    const entry: TimelineEntry = { atMs: this.#sinceBegan(), what: abbreviated(what) }
    this.#open = { ...this.#open, ...longer(this.#open, entry) }
  }

  /** Notes, once in an epoch, that its primary does not open at once, and why. */
  waits(record: ClusterRecord | undefined, { instances }: Snapshot): void {
    if (record === undefined || this.#waitedInEpoch === record.epoch) return
    const seen = instances.find(({ observation }) => observation?.member === record.primary)?.observation
    if (!seen || !opensLong(seen, record.epoch)) return
    this.#waitedInEpoch = record.epoch
    this.note(String(say`waits: ${seen.instance} ${describeOpening(seen)}`))
  }

  committed({ next: record, why, timedOut = false, isAnswer, loss }: CommitAction, place?: Place): void {
    if (this.#open === null) return
    this.note(`committed revision ${record.revision}, epoch ${record.epoch}`)
    if (loss !== undefined && !isNothing(loss)) this.note(printed(why, place))
    const moved = record.epoch > this.#open.fromEpoch
    this.#open = {
      ...this.#open,
      sentence: printed(why, place),
      namesCommand: why instanceof Sentence && why.namesCommand,
      isTakenUp: false,
      writesUntilMs: this.#writesUntilMs(),
      timedOut,
      formsAnew: this.#open.formsAnew || record.group?.forming === true,
      isAnswered: this.#open.isAnswered || isAnswer === true,
      ...(moved ? movedTo(record, loss, this.#open) : {}),
    }
  }

  /** Ends it and gives it back for the notes; null when none was open. */
  end(outcome: Recovery['outcome'], sentence?: string): EndedRecovery | null {
    if (this.#open === null) return null
    this.note(`ended: ${outcome}`)
    const recovery = { ...withoutOwn(this.#open), outageMs: this.#sinceBegan() - this.#writesUntilMs() }
    this.#open = null
    return { ...recovery, outcome, ...(sentence === undefined ? {} : { sentence, namesCommand: false }) }
  }

  /** The first commit of a switchover is followed at once by what stops writes. */
  #writesUntilMs(): number {
    return this.#open?.writesUntilMs ?? this.#sinceBegan()
  }

  #sinceBegan(): number {
    return this.#open === null ? 0 : Math.round((this.#clock.monotonicMs() - this.#open.beganMs) * 10) / 10
  }
}

/** What a change of the primary gave up stays said where the same recovery changes it once more. */
function movedTo({ primary, epoch }: ClusterRecord, loss: Loss | undefined, before: Recovery) {
  const known = loss ?? before.loss ?? noLoss
  return { to: primary, toEpoch: epoch, ...(before.kind === 'bootstrap' ? {} : { loss: known }) }
}

function worstIn(seen: DecisionInput): string | undefined {
  return analyse(seen).find(({ severity }) => severity === 'critical')?.sentence
}

/** Requests of the switchover that goes on, and of a switchover that begins now. */
function switchoversIn({ actions }: Decision, { record }: Seen): readonly string[] {
  const begun = actions.flatMap((action) => (action.kind === 'commit' ? [action.next.intent] : []))
  const waiting = actions.flatMap((action) => (action.kind === 'hooks' ? (action.request ?? []) : []))
  const intents = [record?.intent, ...begun]
  return [...waiting, ...intents.flatMap((intent) => (intent?.kind === 'switchover' ? [intent.request] : []))]
}

/** While a person's failover is open, whatever is done for a primary that fails is done for that request. */
function failoversIn({ requests }: Seen): readonly string[] {
  return requests.filter(({ kind }) => kind === 'failover').map(({ id }) => id)
}

function opensLong({ openingMs = 0, stored }: Observation, epoch: number): boolean {
  return openingMs >= toldAfterMs && stored.assignment?.epoch === epoch
}

function endUnseen({ primary, epoch }: ClusterRecord): string {
  return `${instanceOf(primary)} takes writes in epoch ${epoch}; the manager that began this is gone`
}

/** How a recovery ended, once the primary is open: a change of primary either happened or did not. */
function outcomeOf({ kind, from, to, formsAnew, isAnswered }: Open): Recovery['outcome'] {
  const moved = to !== null && to !== from
  if (kind === 'switchover') return moved ? 'succeeded' : 'undone'
  return kind === 'failover' && !moved && !formsAnew && !isAnswered ? 'abandoned' : 'succeeded'
}

/** The record's primary takes writes and its address is published. */
function isWhole(record: ClusterRecord, { instances }: Snapshot, published: PrimaryRoute | undefined): boolean {
  if (record.intent !== null || published?.epoch !== record.epoch) return false
  return instances.some(({ reachable, observation: seen }) => {
    const opened =
      seen?.converged.done === true &&
      seen.stored.assignment?.role === 'primary' &&
      seen.stored.assignment.epoch === record.epoch
    return seen?.member === record.primary && reachable && seen.process === 'running' && opened
  })
}

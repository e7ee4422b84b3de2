import { heard, printed, type Said, type Sentence } from '#common/sentence/sentence.ts'
import type { DecisionInput } from '#failover/judge/situation.ts'
import type { Decision } from '#failover/protocol/decision.ts'
import type { Recovery, TimelineEntry } from '#failover/protocol/notes.ts'
import type { Observation } from '#topology/snapshot/observation.ts'
import type { Random } from '#common/ports/ports.ts'
import { abbreviated } from '#common/text/words.ts'
import { instanceOf } from '#topology/snapshot/member.ts'
import { goesOn, goneOnWith, isEndedIn, orphansIn } from './orphans.ts'
import { isRepair } from './repair-codes.ts'

/** A repair that goes on for hours keeps no more steps. */
const stepsKept = 40

interface Open {
  readonly id: string
  readonly startedWallMs: number
  readonly beganMs: number
  readonly cause: string
  readonly fromEpoch: number
  readonly member: Observation['member']
  readonly timeline: readonly TimelineEntry[]
}

/** What of an instance was looked at last. */
interface Seen {
  readonly run: string
  readonly notice: number
  readonly process: Observation['process']
  readonly pid: number | null
  readonly stage: Said
}

/**
 * What is put right at one instance after the other, without a change of primary: its mysqld is started again, it is
 * archived and seeded, a setting or an account is made right. Told by what its agent says; nothing is decided by this.
 */
export class RepairBook {
  readonly #random: Random
  readonly #open = new Map<string, Open>()
  readonly #seen = new Map<string, Seen>()

  constructor(random: Random) {
    this.#random = random
  }

  /** Repairs that go on, as they would be filed now. */
  get running(): readonly Recovery[] {
    return [...this.#open.values()].map((open) => asRecovery(open, 'running'))
  }

  /** @returns those that ended */
  keep(input: DecisionInput, decision: Pick<Decision, 'actions' | 'sentence'>): readonly Recovery[] {
    this.#takeUp(input)
    const ended: Recovery[] = this.#giveUp(input)
    for (const { name, reachable, observation } of input.snapshot.instances) {
      if (!reachable || observation === null) continue
      const isTold = decision.actions.some((action) => action.kind === 'reseed' && action.to === name)
      this.#look(input, observation, isTold ? [decision.sentence] : [])
      const open = this.#open.get(name)
      if (open === undefined || !isSettled(observation)) continue
      this.#open.delete(name)
      ended.push(inOrder(open, name))
    }
    return ended
  }

  #takeUp(input: DecisionInput): void {
    for (const [name, open] of this.#open) if (isEndedIn(input.notes, open)) this.#open.delete(name)
    for (const orphan of orphansIn(input.notes, true)) {
      if (orphan.from === null || this.#open.has(instanceOf(orphan.from))) continue
      const { id, startedWallMs, analysis: cause, fromEpoch, from: member } = orphan
      const open = { id, startedWallMs, cause, fromEpoch, member, ...goneOnWith(orphan, input) }
      this.#open.set(instanceOf(member), open)
    }
  }

  /** Repairs of instances that are gone. */
  #giveUp({ snapshot }: DecisionInput): Recovery[] {
    const gone = [...this.#open].filter(([name]) => snapshot.instances.every((one) => one.name !== name))
    return gone.map(([name, open]) => {
      this.#open.delete(name)
      return { ...asRecovery(open, 'abandoned'), sentence: `${name} is no instance of the cluster any more` }
    })
  }

  #look(input: DecisionInput, seen: Observation, told: readonly string[]): void {
    const before = this.#seen.get(seen.instance)
    const now = lookOf(seen)
    this.#seen.set(seen.instance, now)
    // What an agent said before this manager listened was another manager's to file.
    const steps = before === undefined ? told : [...told, ...processSteps(before, seen), ...noticesSince(before, seen)]
    if (before === undefined && seen.seedingProgress === null) return
    // A stage that only came further is no other one.
    const stage = now.stage !== '' && isNews(now.stage, before?.stage) ? [`copying: ${printed(now.stage)}`] : []
    for (const what of [...steps, ...stage]) this.#note(input, seen, what)
  }

  #note({ nowMs, wallMs, record }: DecisionInput, seen: Observation, what: string): void {
    const open = this.#open.get(seen.instance) ?? {
      id: this.#random.hex(12),
      startedWallMs: wallMs,
      beganMs: nowMs,
      cause: what,
      fromEpoch: record?.epoch ?? 0,
      member: seen.member,
      timeline: [],
    }
    const last = open.timeline.at(-1)
    if (last?.what === abbreviated(what) || open.timeline.length >= stepsKept)
      return void this.#open.set(seen.instance, open)
    const entry = { atMs: Math.round((nowMs - open.beganMs) * 10) / 10, what: abbreviated(what) }
    this.#open.set(seen.instance, { ...open, timeline: [...open.timeline, entry] })
  }
}

function lookOf(seen: Observation): Seen {
  return {
    run: seen.agentRun,
    notice: seen.notices.at(-1)?.id ?? 0,
    process: seen.process,
    pid: seen.mysqldPid,
    stage: heard(seen.seedingProgress?.stage ?? ''),
  }
}

function isNews(now: Sentence, before: Said = ''): boolean {
  return before === '' || now.news !== before.news
}

function noticesSince(before: Seen, { agentRun, notices }: Observation): readonly string[] {
  const from = before.run === agentRun ? before.notice : 0
  return notices.filter(({ id, code }) => id > from && isRepair(code)).map(({ sentence }) => printed(sentence))
}

/** A server that is started for the first time is no repair. */
function processSteps(before: Seen, { process, processNote, mysqldPid }: Observation): readonly string[] {
  const wasUp = before.process === 'running' || before.process === 'stopped'
  const isDown = process === 'dead' || process === 'exiting'
  if (wasUp && isDown) return [`mysqld ended${processNote === '' ? '' : `: ${printed(processNote)}`}`]
  const isAnother = process === 'running' && before.pid !== null && mysqldPid !== before.pid
  return isAnother ? [`mysqld runs again (pid ${mysqldPid})`] : []
}

/** The instance does what it was told, on data that is whole. */
function isSettled({ process, server, seedingProgress, stored, converged }: Observation): boolean {
  return process === 'running' && server !== null && seedingProgress === null && !stored.seeding && converged.done
}

/** Where nobody saw the last step, how it ended is all that is known. */
function inOrder(open: Open, name: string): Recovery {
  const recovery = asRecovery(open, 'succeeded')
  return recovery.sentence === goesOn ? { ...recovery, sentence: `${name} is in order again` } : recovery
}

function asRecovery(open: Open, outcome: Recovery['outcome']): Recovery {
  const { id, startedWallMs, cause, fromEpoch, member, timeline } = open
  return {
    id,
    kind: 'repair',
    startedWallMs,
    analysis: cause,
    sentence: timeline.at(-1)?.what ?? cause,
    from: member,
    to: member,
    fromEpoch,
    toEpoch: null,
    outcome,
    timeline,
  }
}

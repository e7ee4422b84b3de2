import { codeOf, describeError, RegentError } from '#common/errors/errors.ts'
import { say, type Sentence } from '#common/sentence/sentence.ts'
import type { Transport } from '#common/ports/ports.ts'
import { orderVersion } from '#failover/protocol/message.ts'
import { sayWord, type AskAnswer } from '#failover/protocol/word.ts'
import type { DecisionInput } from '#failover/judge/situation.ts'
import { instanceOf } from '#topology/snapshot/member.ts'
import type { Ask, Observation } from '#topology/snapshot/observation.ts'
import type { Operations } from './operations/operations.ts'

export interface AskDeskPorts {
  readonly operations: Pick<Operations, 'perform'>
  readonly transport: Transport
  readonly failed: (what: string, error: unknown) => void
}

type Outcome = Pick<AskAnswer, 'outcome' | 'sentence'>

interface Taken {
  /** Undefined while the work is under way. */
  outcome: Outcome | undefined
  isTold: boolean
}

/** An agent answers within this time, or is told again. */
const tellMs = 1_500

/**
 * Does what agents ask for their callers, as if a person had asked, and tells them how that ended. Each ask is taken
 * once. A manager that begins to lead takes what is shown: what its predecessor did shows in the record.
 */
export class AskDesk {
  readonly #ports: AskDeskPorts
  readonly #taken = new Map<string, Taken>()

  constructor(ports: AskDeskPorts) {
    this.#ports = ports
  }

  /** Called with each decision of a manager that leads. */
  look(input: DecisionInput): void {
    const shown = new Set<string>()
    for (const { observation, agent, reachable } of input.snapshot.instances) {
      if (observation === null) continue
      for (const ask of observation.asks ?? []) {
        const key = `${observation.agentRun} ${ask.id}`
        shown.add(key)
        if (reachable) void this.#serve(key, { input, observation, agent, ask })
      }
    }
    for (const key of this.#taken.keys()) if (!shown.has(key)) this.#taken.delete(key)
  }

  async #serve(key: string, asked: Asked): Promise<void> {
    const known = this.#taken.get(key)
    if (known !== undefined) return this.#tell(known, asked)
    const taken: Taken = { outcome: undefined, isTold: false }
    this.#taken.set(key, taken)
    taken.outcome = await this.#outcomeOf(asked)
    return this.#tell(taken, asked)
  }

  async #outcomeOf(asked: Asked): Promise<Outcome> {
    try {
      return { outcome: 'done', sentence: await this.#do(asked) }
    } catch (error) {
      const outcome = codeOf(error) === 'REGENT_TIMED_OUT' ? 'timedOut' : 'refused'
      return { outcome, sentence: describeError(error) }
    }
  }

  async #do({ input, observation, ask }: Asked): Promise<string> {
    const { operations } = this.#ports
    const reason = `asked for at ${observation.instance}, by a lifecycle action`
    switch (ask.wants) {
      case 'switchover': {
        const needless = whyNoSwitchover(input, ask)
        if (needless !== undefined) return String(needless)
        const timeoutMs = Math.min(ask.remainingMs, input.spec.switchover.timeoutMs)
        const to = ask.to ?? undefined
        const from = ask.from === '' ? undefined : ask.from
        return (await operations.perform('switchover', { from, to, timeoutMs, reason, dryRun: false })).sentence
      }
      case 'fence':
        return (await operations.perform('fence', { instance: ask.instance, keepPrimary: true, dryRun: false }))
          .sentence
      case 'unfence':
        return (await operations.perform('unfence', { instance: ask.instance, dryRun: false })).sentence
    }
  }

  /** An answer that is lost is told again with a later look. */
  async #tell(taken: Taken, { observation, agent, ask, input }: Asked): Promise<void> {
    if (taken.outcome === undefined || taken.isTold) return
    taken.isTold = true
    const { member, instance } = observation
    const answer: AskAnswer = { version: orderVersion, cluster: input.cluster, member, id: ask.id, ...taken.outcome }
    try {
      await sayWord({ transport: this.#ports.transport, deadlineMs: tellMs }, agent, 'answer', answer)
    } catch (error) {
      taken.isTold = false
      this.#ports.failed(`answering what ${instance} asked for`, error)
    }
  }
}

interface Asked {
  readonly input: DecisionInput
  readonly observation: Observation
  readonly agent: string
  readonly ask: Ask
}

/**
 * What is asked for is so already: by a predecessor of this manager, or as the caller knew no better. Throws
 * `REGENT_REFUSED` where another instance than `from` is the primary, and `to` would have to take over from that
 * instance.
 */
function whyNoSwitchover(
  { record }: DecisionInput,
  { from, to }: Extract<Ask, { wants: 'switchover' }>,
): Sentence | undefined {
  if (record === undefined) return undefined
  const primary = instanceOf(record.primary)
  if (to === primary) return say`${primary} is the primary already`
  if (from === '' || from === primary) return undefined
  const why = say`${from} is not the primary: ${primary} is`
  if (to !== null) throw new RegentError('REGENT_REFUSED', say`no switchover from ${from} to ${to}: ${why}`)
  return why
}

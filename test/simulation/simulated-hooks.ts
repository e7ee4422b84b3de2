import { hooksAt } from '#failover/protocol/hook.ts'
import type { HookMoment } from '#failover/protocol/hook-moments.ts'
import type { HookDocument } from '#failover/protocol/hook-document.ts'
import type { HookEnd, HookPort } from '#manager/loop/hooks/hook-port.ts'
import type { ClusterSpec } from '#failover/protocol/spec.ts'
import type { SeededRandom } from './seeded-random.ts'
import type { VirtualTime } from './virtual-time.ts'

export interface HookBegun {
  readonly told: HookDocument
  readonly atMs: number
  ended: boolean
}

const longestMs = 400

/** Hooks of all managers: each takes a while, and some fail. What has begun goes on without its manager. */
export class SimulatedHooks implements HookPort {
  readonly machine = 'simulated'
  readonly begun: HookBegun[] = []
  /** The first that ran twice. */
  violation: string | undefined
  /** How a hook ends; as chance has it unless given. */
  ends: ((told: HookDocument) => HookEnd) | undefined
  readonly #time: VirtualTime
  readonly #random: SeededRandom

  constructor(time: VirtualTime, random: SeededRandom) {
    this.#time = time
    this.#random = random
  }

  run(_: unknown, told: HookDocument): Promise<HookEnd> {
    const begun = { told, atMs: this.#time.nowMs, ended: false }
    this.violation ??= this.#twice(told)
    this.begun.push(begun)
    return new Promise((resolve) => {
      this.#time.after(this.#random.between(1, longestMs), () => {
        begun.ended = true
        const isDone = this.#random.chance(0.8)
        resolve(this.ends?.(told) ?? { isDone, said: isDone ? 'exit 0' : 'exit 1' })
      })
    })
  }

  at(moment: HookMoment): readonly HookDocument[] {
    return this.begun.flatMap(({ told }) => (told.moment === moment ? [told] : []))
  }

  /** One key, or one failover under two names: what follows the failover to an epoch follows it once. */
  #twice(told: HookDocument): string | undefined {
    const { key, moment, recovery } = told
    const index = key.split('.').at(-1)
    const other = this.begun.find(
      ({ told: one }) =>
        one.key === key ||
        (one.moment === moment &&
          moment.startsWith('after') &&
          one.recovery.toEpoch === recovery.toEpoch &&
          one.key.split('.').at(-1) === index),
    )
    return other === undefined
      ? undefined
      : `hook: ${moment} ${index} of epoch ${recovery.toEpoch ?? recovery.fromEpoch} ran twice, as ${other.told.key} and as ${key}`
  }
}

/** Two hooks at each moment. */
export const hooksEverywhere: NonNullable<ClusterSpec['hooks']> = Object.fromEntries(
  (
    [
      'detected',
      'beforeFailover',
      'powerOff',
      'afterFailover',
      'beforeSwitchover',
      'afterSwitchover',
      'failed',
    ] as const
  ).map((moment) => [moment, [{ command: ['first'] }, { command: ['second'] }]]),
)

/** What was to follow the last failover has followed: each hook once. */
export function lacksAfter(hooks: SimulatedHooks, spec: ClusterSpec, toEpoch: number): string | undefined {
  const wanted = hooksAt(spec.hooks, 'afterFailover').length
  const ran = hooks.at('afterFailover').filter(({ recovery }) => recovery.toEpoch === toEpoch).length
  return ran === wanted ? undefined : `${ran} of ${wanted} hooks ran after the failover to epoch ${toEpoch}`
}

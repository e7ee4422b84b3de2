import { described, RegentError } from '#common/errors/errors.ts'
import { say, type Sentence } from '#common/sentence/sentence.ts'
import type { Clock, Timers } from '#common/ports/ports.ts'
import type { Step } from '#orchestrator/trees/step.ts'
import type { AdoptedHost } from '../adoption.ts'
import { LookFailure } from '../servers/failure.ts'
import { ServerHand } from './server-hand.ts'

export type OpenHand = typeof ServerHand.open

/** Servers that a change is about, each with a session that is opened when a step needs one. */
export class Servers {
  readonly #hosts: readonly AdoptedHost[]
  readonly #world: { readonly clock: Clock; readonly timers: Timers }
  readonly #openHand: OpenHand
  readonly #hands = new Map<string, ServerHand>()

  constructor(
    hosts: readonly AdoptedHost[],
    world: { readonly clock: Clock; readonly timers: Timers },
    openHand: OpenHand = (...given) => ServerHand.open(...given),
  ) {
    this.#hosts = hosts
    this.#world = world
    this.#openHand = openHand
  }

  readonly of = (name: string): ServerHand => this.#hands.get(name) ?? neverMissing(name)

  get hands(): Iterable<ServerHand> {
    return this.#hands.values()
  }

  /** Rejects where one of them cannot be spoken to. */
  async open(names: Iterable<string>): Promise<void> {
    for (const name of new Set(names)) {
      if (this.#hands.get(name)?.isOpen === true) continue
      this.#hands.set(name, await this.#openHand(this.#hostOf(name), this.#hosts, this.#world))
    }
  }

  /** Servers that take writes just now, of all that answer. */
  async writers(): Promise<ReadonlySet<string>> {
    const names = this.#hosts.map(({ instance }) => instance)
    const takes = async (name: string): Promise<boolean> => {
      await this.open([name])
      return this.of(name).takesWrites()
    }
    const answers = await Promise.all(names.map((name) => takes(name).catch(() => false)))
    return new Set(names.filter((_, at) => answers[at]))
  }

  async do(step: Step): Promise<void> {
    if (step.do === 'absent') return this.#refusePresent(step.at)
    await this.open(namesIn(step))
    await this.of(step.at).do(step, this)
  }

  close(): void {
    for (const hand of this.#hands.values()) hand.close()
  }

  async #refusePresent(name: string): Promise<void> {
    const failure = await this.#whyNoHand(name)
    if (failure === undefined)
      throw new RegentError('REGENT_REFUSED', say`${name} answers again: nobody leads beside it`)
    if (isNobodyThere(failure)) return
    throw new RegentError('REGENT_REFUSED', say`${notGone(name, failure)}: nobody leads beside it`, { cause: failure })
  }

  /** The first of these servers of which nobody can say whether it takes writes, in a sentence; undefined for none. */
  async whyNotGone(names: readonly string[]): Promise<string | undefined> {
    for (const name of names) {
      const failure = await this.#whyNoHand(name)
      if (failure !== undefined && !isNobodyThere(failure)) return String(notGone(name, failure))
    }
    return undefined
  }

  /** Undefined where it answers. */
  async #whyNoHand(name: string): Promise<unknown> {
    try {
      const hand = await this.#openHand(this.#hostOf(name), this.#hosts, this.#world)
      hand.close()
      return undefined
    } catch (error) {
      return error ?? new Error('it fails')
    }
  }

  #hostOf(name: string): AdoptedHost {
    return this.#hosts.find(({ instance }) => instance === name) ?? neverMissing(name)
  }
}

function notGone(name: string, failure: unknown): Sentence {
  return say`${name} is not known to be gone (${described(failure)})`
}

/** A root that is back may have all its connections taken at once by those who waited: that is no death. */
function isNobodyThere(error: unknown): boolean {
  return error instanceof LookFailure && ['refused', 'silent', 'unresolved'].includes(error.reach)
}

/** Servers that a step touches, or asks for a place. */
export function namesIn(step: Step): readonly string[] {
  switch (step.do) {
    case 'absent':
      return []
    case 'catchUp':
    case 'covers':
    case 'level':
      return [step.at, step.with]
    case 'advance':
      return [step.at, ...namesOf(step.to)]
    case 'follow':
      return [
        step.at,
        ...('sourceOf' in step.source ? [step.source.sourceOf] : []),
        ...(step.from === 'gtids' ? [] : namesOf(step.from)),
      ]
    default:
      return [step.at]
  }
}

function namesOf(place: { readonly endOf: string } | { readonly appliedBy: string }): readonly string[] {
  return ['endOf' in place ? place.endOf : place.appliedBy]
}

function neverMissing(name: string): never {
  throw new RegentError('REGENT_NOT_FOUND', say`${name} is none of the servers that are watched`)
}

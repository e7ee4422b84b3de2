import { Sentence } from '#common/sentence/sentence.ts'
import type { Clock } from '#common/ports/ports.ts'
import type { FactView } from '#failover/protocol/word.ts'
import type { FactName } from './facts.ts'

const kept = 200
const longestDetail = 200

/** What comes again and again while all is well would leave no room for anything else. */
const quiet: ReadonlySet<FactName> = new Set<FactName>([
  'backupsSeen',
  'backupWorkFailed',
  'beganHere',
  'binlogsShipped',
  'copyWent',
  'heartbeatWritten',
  'holdsSeen',
  'leaderHeard',
  'leaveAsked',
  'peerHeard',
  'questionHeard',
  'silenceSeen',
])

/** The newest facts that changed what is known: what a run of the agent did, and by what, in their order. */
export class FactLog {
  readonly #clock: Pick<Clock, 'monotonicMs'>
  readonly #list: { readonly atMs: number; readonly fact: FactName; readonly detail: string }[] = []
  #decisive = 0

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock
  }

  /** The oldest first. */
  get list(): readonly FactView[] {
    const nowMs = this.#clock.monotonicMs()
    return this.#list.map(({ atMs, fact, detail }) => ({ agoMs: Math.round(nowMs - atMs), fact, detail }))
  }

  /** Whether such a fact is kept where it changed anything. */
  keeps(fact: FactName): boolean {
    return !quiet.has(fact)
  }

  /** How many of them another thing may be decided by: what convergence says of itself decides nothing. */
  get decisive(): number {
    return this.#decisive
  }

  add(fact: FactName, found: object): void {
    if (fact !== 'converged') this.#decisive += 1
    const atMs = this.#clock.monotonicMs()
    this.#list.push({ atMs, fact, detail: detailOf(found, atMs) })
    if (this.#list.length > kept) this.#list.shift()
  }
}

/** `revision 12, done, sentence follows shop-1` */
function detailOf(found: object, nowMs: number): string {
  const details = Object.entries(found).map(([name, value]: [string, unknown]) => textOf(name, value, nowMs))
  return details.filter((text) => text !== '').join(', ')
}

function textOf(name: string, value: unknown, nowMs: number): string {
  if (typeof value === 'number' && moments.has(name)) return momentOf(name, value - nowMs)
  if (typeof value === 'boolean') return value ? name : `not ${name}`
  if (value instanceof Promise || value === undefined) return ''
  const text = typeof value === 'string' || value instanceof Sentence ? String(value) : JSON.stringify(value)
  return `${name} ${text.length > longestDetail ? `${text.slice(0, longestDetail)}…` : text}`
}

/** By the agent's own clock, which says nothing to a person. */
const moments: ReadonlySet<string> = new Set(['atMs', 'sinceMs', 'untilMs'])

/** '' for the moment of the fact, which is shown. */
function momentOf(name: string, afterMs: number): string {
  if (name === 'atMs') return ''
  return afterMs < 0 ? `since ${Math.round(-afterMs)} ms before` : `for ${Math.round(afterMs)} ms`
}

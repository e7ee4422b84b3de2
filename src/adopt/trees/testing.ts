import { emptyNotes } from '#failover/protocol/notes.ts'
import type { Instance } from '#orchestrator/documents/instance.ts'
import { fleetOf } from '#orchestrator/fleet/fleet.ts'
import type { PlaceThen, Step } from '#orchestrator/trees/step.ts'
import { knownOf } from '../watch/known.ts'
import { anAdoption, judged, looksOf, nowMs, type Scene } from '../watch/testing.ts'

/** As documents show servers that are so. */
export function documentsOf(scene: Scene): readonly Instance[] {
  const known = knownOf({
    ...{ adoption: anAdoption(scene), looks: looksOf(scene), judgement: judged(scene) },
    ...{ notes: emptyNotes, nowMs, wallMs: 1_000_000 },
  })
  return fleetOf([known], 'name')[0]?.servers.map(({ instance }) => instance) ?? []
}

/** `stop 1, follow 1` */
export function wordsOf(steps: readonly Step[]): string {
  return steps.map((step) => `${step.do} ${step.at.slice(5)}`).join(', ')
}

interface ModelServer {
  /** What it wrote and applied, in this order. */
  readonly binlog: number[]
  follows: string | null
  /** How far it has got in the binlog of its source; nobody looks at that where it follows by GTIDs. */
  applied: number
  byGtids: boolean
  runs: boolean
  receives: boolean
  isOpen: boolean
  isAlive: boolean
}

/** Servers that replicate, as far as plans are about them: who has which transactions. Nothing may come twice. */
export class ModelTree {
  readonly #servers = new Map<string, ModelServer>()
  #next = 1

  /** @param follows whom each follows, by ordinal; null for nobody */
  constructor(follows: readonly (number | null)[], byGtids: boolean) {
    for (const [at, source] of follows.entries())
      this.#servers.set(`shop-${at}`, {
        ...{ binlog: [], applied: 0, byGtids, runs: source !== null, receives: true },
        ...{ isOpen: source === null, isAlive: true },
        follows: source === null ? null : `shop-${source}`,
      })
  }

  /** Clients write at the first one all the time, and replicas are behind by different amounts. */
  static written(follows: readonly (number | null)[], byGtids: boolean): ModelTree {
    const model = new ModelTree(follows, byGtids)
    for (let write = 0; write < 12; write += 1) {
      model.write('shop-0')
      model.replicate(write % 3)
    }
    return model
  }

  /** A client writes there: gives whether the server took that. */
  write(name: string): boolean {
    const { binlog, isOpen, isAlive } = this.#of(name)
    if (isOpen && isAlive) binlog.push(this.#next++)
    return isOpen && isAlive
  }

  kill(name: string): void {
    this.#of(name).isAlive = false
  }

  /** Whom a server follows, how far it has got there, and whether anybody may write. */
  state(name: string): Readonly<Pick<ModelServer, 'follows' | 'applied' | 'isOpen' | 'isAlive' | 'runs'>> {
    return this.#of(name)
  }

  get writable(): readonly string[] {
    return [...this.#servers].filter(([, { isOpen, isAlive }]) => isOpen && isAlive).map(([name]) => name)
  }

  /** Whom each follows: `shop-1<shop-0`. */
  get links(): string {
    return [...this.#servers]
      .flatMap(([name, { follows }]) => (follows === null ? [] : [`${name}<${follows}`]))
      .join(' ')
  }

  held(name: string): readonly number[] {
    return this.#of(name).binlog
  }

  /** Each running server applies at most so many transactions. */
  replicate(most = Infinity): void {
    for (let turn = 0; turn < most; turn += 1) {
      const moved = [...this.#servers.keys()].map((name) => this.#apply(name, Infinity))
      if (!moved.includes(true)) return
    }
  }

  do(step: Step): void {
    const server = this.#of(step.at)
    const changes = changesBy(step, server)
    if (changes !== undefined) return void Object.assign(server, changes)
    switch (step.do) {
      case 'absent':
        if (server.isAlive) throw new Error(`${step.at} answers`)
        return
      // What is received is applied in the same moment here.
      case 'drain':
      case 'covers':
        return
      case 'catchUp':
        return this.#catchUp(step.at, step.with)
      case 'advance':
        return this.#advance(step.at, this.#place(step.to))
      case 'level':
        return this.#level(step.at, step.with)
      case 'follow':
        return this.#follow(server, step)
      default:
        throw new Error(`${step.do} is not played here`)
    }
  }

  #catchUp(name: string, source: string): void {
    const server = this.#of(name)
    while (!this.#of(source).binlog.every((one) => server.binlog.includes(one)))
      if (!this.#apply(name, Infinity)) throw new Error(`${name} never gets what ${source} has`)
  }

  #level(name: string, otherName: string): void {
    const [one, other] = [this.#of(name), this.#of(otherName)]
    if (one.applied < other.applied) this.#advance(name, other.applied)
    else this.#advance(otherName, one.applied)
  }

  #follow(server: ModelServer, { at, from, source }: Extract<Step, { readonly do: 'follow' }>): void {
    if (server.runs) throw new Error(`${at} still replicates`)
    const applied = from === 'gtids' ? 0 : this.#place(from)
    Object.assign(server, { follows: this.#source(source), byGtids: from === 'gtids', applied })
  }

  #source(source: Extract<Step, { readonly do: 'follow' }>['source']): string | null {
    if ('instance' in source) return source.instance
    return 'sourceOf' in source ? this.#of(source.sourceOf).follows : `${source.host}:${source.port}`
  }

  #place(place: PlaceThen): number {
    return 'endOf' in place ? this.#of(place.endOf).binlog.length : this.#of(place.appliedBy).applied
  }

  #advance(name: string, to: number): void {
    const server = this.#of(name)
    if (server.runs) throw new Error(`${name} runs already`)
    server.runs = true
    while (server.applied < to) if (!this.#apply(name, to)) throw new Error(`${name} never gets to ${to}`)
    server.runs = false
    if (server.applied !== to) throw new Error(`${name} is at ${server.applied} and not at ${to}`)
  }

  /** Applies one transaction of the source; false where there is none. */
  #apply(name: string, until: number): boolean {
    const server = this.#of(name)
    const source = this.#sourceOf(server)
    if (source === undefined) return false
    if (server.byGtids) {
      const next = source.binlog.find((one) => !server.binlog.includes(one))
      if (next !== undefined) server.binlog.push(next)
      return next !== undefined
    }
    const next = server.applied < until ? source.binlog[server.applied] : undefined
    if (next === undefined) return false
    if (server.binlog.includes(next)) throw new Error(`${name} applies ${next} twice`)
    server.applied += 1
    server.binlog.push(next)
    return true
  }

  /** Undefined where nothing comes from there. */
  #sourceOf({ follows, isAlive, runs, receives }: ModelServer): ModelServer | undefined {
    const source = this.#servers.get(follows ?? '')
    return source?.isAlive && isAlive && runs && receives ? source : undefined
  }

  #of(name: string): ModelServer {
    const server = this.#servers.get(name)
    if (server === undefined) throw new Error(`there is no ${name}`)
    return server
  }
}

const alone = { follows: null, runs: false, receives: true } as const

function changesBy(step: Step, { follows }: ModelServer): Partial<ModelServer> | undefined {
  switch (step.do) {
    case 'stop':
      return { runs: false, receives: true }
    case 'start':
      return { runs: follows !== null, receives: true }
    case 'stopReceiving':
    case 'startReceiving':
      return { receives: step.do === 'startReceiving' }
    case 'lead':
      return { ...alone, isOpen: true }
    case 'reset':
      return alone
    case 'readOnly':
      return { isOpen: !step.on }
    default:
      return undefined
  }
}

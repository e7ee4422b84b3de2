import type { PlaceThen, Step } from '#orchestrator/trees/step.ts'

interface ModelServer {
  /** What it wrote and applied, in this order. */
  readonly binlog: number[]
  follows: string | null
  /** How far it has got in the binlog of its source; nobody looks at that where it follows by GTIDs. */
  applied: number
  byGtids: boolean
  runs: boolean
}

/** Servers that replicate, as far as plans are about them: who has which transactions. Nothing may come twice. */
export class ModelTree {
  readonly #servers = new Map<string, ModelServer>()
  #next = 1

  /** @param follows whom each follows, by ordinal; null for nobody */
  constructor(follows: readonly (number | null)[], byGtids: boolean) {
    for (const [at, source] of follows.entries())
      this.#servers.set(`shop-${at}`, {
        ...{ binlog: [], applied: 0, byGtids, runs: source !== null },
        follows: source === null ? null : `shop-${source}`,
      })
  }

  /** A client writes there. */
  write(name: string): void {
    this.#of(name).binlog.push(this.#next++)
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
    switch (step.do) {
      case 'stop':
      case 'start':
        server.runs = step.do === 'start' && server.follows !== null
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

  /** One transaction of its source; false where there is none. */
  #apply(name: string, until: number): boolean {
    const server = this.#of(name)
    const source = this.#servers.get(server.follows ?? '')
    if (source === undefined || !server.runs) return false
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

  #of(name: string): ModelServer {
    const server = this.#servers.get(name)
    if (server === undefined) throw new Error(`there is no ${name}`)
    return server
  }
}

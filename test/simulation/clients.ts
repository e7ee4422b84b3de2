import { GtidSet } from '#topology/gtid/gtid-set.ts'
import type { Machine } from './machine.ts'
import type { SimulatedRouter } from './routers/routers.ts'
import type { SeededRandom } from './seeded-random.ts'
import type { SimulatedCluster } from './simulated-cluster.ts'

/** A server that is none of the cluster. */
export const uuidAbroad = '0f0e19f0-0000-4000-8000-00000000b0b0'
interface Session {
  readonly at: Machine
  /** Of the sessions through that router. */
  readonly generation: number
}

/** A client gives a silent server up after so long. What the server still does is done all the same. */
const patienceMs = 2_000

/** Writers, and what they heard: every write that was acknowledged to one of them. */
export class Clients {
  readonly #cluster: SimulatedCluster
  readonly #random: SeededRandom
  #heard = GtidSet.empty
  /** Acknowledged by a server that a stranger stopped: held in the end, or archived by name. */
  unproven = GtidSet.empty
  count = 0
  /** A server tells one of them OK. */
  told: (at: Machine, write: GtidSet) => void = () => undefined
  readonly #times: { readonly gtid: GtidSet; readonly atMs: number }[] = []
  #paceMs: number
  #ended = false
  /** They give what they write GTIDs of another server, as a replay does; the number of the last. */
  readonly #writesAbroad: boolean
  #lastAbroad = 0

  /** @param paceMs what a client waits at most before the next write */
  constructor(cluster: SimulatedCluster, paceMs: number, writesAbroad = false) {
    this.#cluster = cluster
    this.#paceMs = paceMs
    this.#writesAbroad = writesAbroad
    this.#random = cluster.random.fork()
  }

  /** What must not be lost. */
  get acknowledged(): GtidSet {
    return this.#cluster.excuses.without(this.#heard)
  }

  /** Of these, what was acknowledged before that moment. */
  heardBefore(writes: GtidSet, beforeMs: number): GtidSet {
    const early = this.#times.filter(({ gtid, atMs }) => atMs < beforeMs && writes.contains(gtid))
    return early.reduce((all, { gtid }) => all.union(gtid), GtidSet.empty)
  }

  /** One that asks where the primary is each time, and one that stays where it is until that fails. */
  start(): void {
    this.#writeSoon(null, false)
    this.#writeSoon(null, true)
    for (const router of this.#cluster.routers) this.#writeThrough(router, null)
  }

  /** One that stays in its session until that is ended, or fails. */
  #writeThrough(router: SimulatedRouter, session: Session | null): void {
    if (this.#ended) return
    const { time, network } = this.#cluster
    time.after(this.#random.between(this.#paceMs / 10, this.#paceMs), () => {
      const open = session?.generation === router.proxy.generation ? session : null
      const at = open?.at ?? router.target
      const next = at && { at, generation: router.proxy.generation }
      if (at === null || !network.reachesBothWays(router.place, at.name)) return this.#writeThrough(router, null)
      this.#write(at, (isFine) => this.#writeThrough(router, isFine ? next : null))
    })
  }

  /** From now on a write a second is enough. */
  slowDown(): void {
    this.#paceMs = 1_000
  }

  stop(): void {
    this.#ended = true
  }

  #writeSoon(at: Machine | null, isStubborn: boolean): void {
    if (this.#ended) return
    this.#cluster.time.after(this.#random.between(this.#paceMs / 10, this.#paceMs), () => {
      const to = at ?? this.#primary()
      this.#write(to, (isFine) => this.#writeSoon(isFine && isStubborn ? to : null, isStubborn))
    })
  }

  #primary(): Machine | null {
    const { route, machines } = this.#cluster
    return machines.find(({ name }) => name === route?.instance) ?? null
  }

  #write(at: Machine | null, then: (isFine: boolean) => void): void {
    const { network, time } = this.#cluster
    let isOver = false
    const goOn = (isFine: boolean): void => {
      if (isOver) return
      isOver = true
      then(isFine)
    }
    if (at === null || !network.reaches('clients', at.name)) return goOn(false)
    const { mysqld } = at
    if (mysqld?.state === 'frozen') return void time.after(patienceMs, () => goOn(false))
    if (!mysqld?.mayWrite) return goOn(false)
    mysqld.commitNew(
      false,
      (answer, { gtid }) => {
        if (answer === 'ok') this.told(at, gtid)
        time.after(network.delayMs(), () => {
          if (!network.reaches(at.name, 'clients')) return
          if (at.mysqld?.isOpenByHand || this.#cluster.isDeposedUnheard(at)) return goOn(false)
          if (answer === 'unproven') this.unproven = this.unproven.union(gtid)
          if (answer === 'ok') this.#hearOk(at, gtid)
          goOn(answer === 'ok')
        })
      },
      this.#nameAbroad(),
    )
    time.after(patienceMs, () => goOn(false))
  }

  #hearOk(at: Machine, gtid: GtidSet): void {
    this.count += 1
    this.#times.push({ gtid, atMs: this.#cluster.time.nowMs })
    this.#heard = this.#heard.union(gtid)
    this.#cluster.say(`a client hears OK from ${at.name}: ${gtid.toString().slice(0, 8)}:${gtid.toString().slice(37)}`)
  }

  /** Each name once: no client tries again what may have been done. */
  #nameAbroad(): GtidSet | undefined {
    if (!this.#writesAbroad) return undefined
    this.#lastAbroad += 1
    return GtidSet.single(uuidAbroad, this.#lastAbroad)
  }
}

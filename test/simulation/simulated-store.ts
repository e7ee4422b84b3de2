import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { cellLease } from '#store/cell-lease.ts'
import { leadingCellStore, storeDeadlineMs } from '#store/cell-store.ts'
import type { Cell, CellName, Cells } from '#store/cells.ts'
import type { LeadingStore } from '#store/store.ts'
import type { Network } from './network.ts'
import type { ProcessLife } from './process-life.ts'
import type { SeededRandom } from './seeded-random.ts'
import type { VirtualTime } from './virtual-time.ts'

/** What is wrong with the store, for every manager. */
export class StoreWeather {
  /** What a request takes on its way, besides, at most. One that is given up arrives all the same. */
  requestsLateMs = 0
  /** The same for an answer: what was asked for is done meanwhile. */
  answersLateMs = 0
  /** How often an answer never comes. */
  answersLost = 0
  /** Nobody finds the claim of another manager. */
  everybodyLeads = false

  clear(): void {
    this.requestsLateMs = this.answersLateMs = this.answersLost = 0
    this.everybodyLeads = false
  }
}

export interface StorePorts {
  readonly time: VirtualTime
  readonly random: SeededRandom
  readonly network: Network
  readonly cells: Map<CellName, Cell>
  readonly weather: StoreWeather
}

/** The store as one manager reaches the store: requests travel, and arrive also where nobody waits any more. */
export function simulatedStore(place: string, life: ProcessLife, ports: StorePorts): LeadingStore {
  const { time, random, network, cells, weather } = ports
  const { clock, timers } = life.world

  function travels(from: string, to: string, lateMs: number): Promise<void> {
    const ms = network.delayMs() + random.between(0, lateMs)
    return new Promise((resolve) => time.after(ms, () => void (network.reaches(from, to) && resolve())))
  }

  function access<Result>(verb: string, work: () => Result): Promise<Result> {
    return life.call(verb, async () => {
      await travels(place, 'store', weather.requestsLateMs)
      if (random.chance(0.005)) throw new RegentError('REGENT_STORE_UNAVAILABLE', say`the store is busy`)
      const result = work()
      if (random.chance(weather.answersLost)) await new Promise(() => undefined)
      await travels('store', place, weather.answersLateMs)
      return result
    })
  }

  const simulated: Cells = {
    place: 'simulated store',
    whereIs: (name) => ({ object: `${name} in memory`, removal: 'start the manager again' }),
    read: (name) =>
      access('readCell', () => (name === 'leader' && weather.everybodyLeads ? undefined : cells.get(name))),
    swap: (name, expectedRevision, next) =>
      access('swapCell', () => {
        const isBlind = name === 'leader' && weather.everybodyLeads
        if (!isBlind && (cells.get(name)?.revision ?? 0) !== expectedRevision) return false
        cells.set(name, next)
        return true
      }),
    remove: (name) =>
      access('removeCell', () => {
        cells.delete(name)
        return true
      }),
    close: () => Promise.resolve(),
  }
  const lease = cellLease(simulated, { clock, machine: { bootId: () => Promise.resolve('memory') } })
  return leadingCellStore(simulated, lease, { timers, deadlineMs: storeDeadlineMs })
}

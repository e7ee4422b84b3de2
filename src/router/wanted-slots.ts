import { gate, nowhere, primarySlot, readSlot, readSlots, type Slot, type Slots } from './haproxy-state.ts'
import type { KnownInstance, ReadState, WhereTo } from './where-to.ts'

type Place = Pick<Slot, 'host' | 'port'>

/** What HAProxy was led to last, as far as the next step rests upon that. */
export interface Led {
  /** Instance in the slot of the primary; '' for none. */
  readonly primary: string
  /** By seat. */
  readonly readers: ReadonlyMap<number, Place>
  /** When sessions at the seat of an instance that left are ended. */
  readonly leaving: ReadonlyMap<number, number>
}

export const ledNowhere: Led = { primary: '', readers: new Map(), leaving: new Map() }

const states: Readonly<Record<ReadState, Slot['state']>> = { open: 'ready', kept: 'drain', shut: 'maint' }
const weight = 100

export interface Leading {
  readonly where: WhereTo
  readonly instances: readonly KnownInstance[]
  readonly drainMs: number
  readonly nowMs: number
}

/** Where HAProxy is to be led now. */
export function wantedSlots(before: Led, leading: Leading): { readonly slots: Slots; readonly led: Led } {
  const { where, instances } = leading
  const primary = primaryIn(before, where)
  const placed = instances.find(({ name }) => name === primary)
  const readers = readersIn(before, leading)
  const led: Led = { primary: placed?.name ?? '', readers: readers.places, leaving: readers.leaving }
  const slots = new Map<string, Slot>([
    [gate, { ...nowhere, state: where.write === null ? 'maint' : 'ready', weight }],
    [primarySlot, { ...placeOf(placed), state: 'ready', weight }],
    ...readers.slots,
  ])
  return { slots, led }
}

/** Sessions that are not to be ended stay where they are. */
function primaryIn(before: Led, { write, keepSessionsOf }: WhereTo): string {
  if (write !== null) return write.name
  return keepSessionsOf === null || keepSessionsOf === before.primary ? before.primary : ''
}

function placeOf(instance: KnownInstance | undefined): Place {
  return instance === undefined ? nowhere : { host: instance.host, port: instance.port }
}

function readersIn(before: Led, { where, instances, drainMs, nowMs }: Leading) {
  const slots: [string, Slot][] = []
  const places = new Map<number, Place>()
  const leaving = new Map<number, number>()
  for (let seat = 0; seat < readSlots; seat++) {
    const instance = instances.find(({ name }) => seatOf(name) === seat)
    const target = where.reads.find(({ name }) => name === instance?.name)
    const last = before.readers.get(seat)
    const untilMs = before.leaving.get(seat) ?? nowMs + drainMs
    if (instance !== undefined && target !== undefined) {
      places.set(seat, placeOf(instance))
      slots.push([readSlot(seat), { ...placeOf(instance), state: states[target.state], weight: target.weight }])
    } else if (last !== undefined && nowMs < untilMs) {
      places.set(seat, last)
      leaving.set(seat, untilMs)
      slots.push([readSlot(seat), { ...last, state: 'drain', weight }])
    } else slots.push([readSlot(seat), { ...nowhere, state: 'maint', weight }])
  }
  return { slots, places, leaving }
}

function seatOf(instance: string): number {
  return Number(/-(\d+)$/.exec(instance)?.[1])
}

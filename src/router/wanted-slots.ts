import { isIP } from 'node:net'
import { gate, nowhere, primarySlot, readSlot, readSlots, type Slot, type Slots } from './haproxy-state.ts'
import type { KnownInstance, ReadState, WhereTo } from './where-to.ts'

type Place = Pick<Slot, 'host' | 'port'>

interface LedPrimary extends Place {
  /** The name of the instance; '' where another router led HAProxy there, and only the place is known. */
  readonly name: string
}

/** The part of HAProxy's last state that the next step rests upon. */
export interface Led {
  /** The primary whose place the slot has; null for nobody's. */
  readonly primary: LedPrimary | null
  /** The place at each seat. */
  readonly readers: ReadonlyMap<number, Place>
  /** The time at which sessions at the seat of a former instance are ended, for each such seat. */
  readonly leaving: ReadonlyMap<number, number>
}

export const ledNowhere: Led = { primary: null, readers: new Map(), leaving: new Map() }

/** The state to which the router before this router led HAProxy, as far as HAProxy tells that. */
export function ledBefore(slots: Slots): Led {
  const placed = (name: string): Place | undefined => {
    const slot = slots.get(name)
    return slot === undefined || isNowhere(slot) ? undefined : { host: slot.host, port: slot.port }
  }
  const primary = placed(primarySlot)
  const readers = Array.from({ length: readSlots }, (_, seat) => [seat, placed(readSlot(seat))] as const)
  return {
    ...ledNowhere,
    primary: primary === undefined ? null : { name: '', ...primary },
    readers: new Map(readers.flatMap(([seat, place]) => (place === undefined ? [] : [[seat, place]]))),
  }
}

const states: Readonly<Record<ReadState, Slot['state']>> = { open: 'ready', kept: 'drain', shut: 'maint' }
const weight = 100

export interface Leading {
  readonly where: WhereTo
  readonly instances: readonly KnownInstance[]
  readonly drainMs: number
  readonly nowMs: number
}

/** The state to which HAProxy is to be led. */
export function wantedSlots(before: Led, leading: Leading): { readonly slots: Slots; readonly led: Led } {
  const { where } = leading
  const primary = primaryIn(before, leading)
  const readers = readersIn(before, leading)
  const slots = new Map<string, Slot>([
    [gate, { ...nowhere, state: where.write === null ? 'maint' : 'ready', weight }],
    [primarySlot, { ...(primary === null ? nowhere : placeOf(primary)), state: 'ready', weight }],
    ...readers.slots,
  ])
  return { slots, led: { primary, readers: readers.places, leaving: readers.leaving } }
}

/**
 * Sessions that are not to be ended stay at their place, even if the agent of their instance is looked for elsewhere.
 */
function primaryIn({ primary }: Led, { where: { write, keepSessionsOf }, instances }: Leading): LedPrimary | null {
  if (write !== null) return { name: write.name, ...placeOf(write) }
  if (keepSessionsOf === null) return primary
  const kept = instances.find(({ name }) => name === keepSessionsOf)
  return primary !== null && kept !== undefined && isOf(kept, primary) ? primary : null
}

function isOf({ name, host, port }: KnownInstance, primary: LedPrimary): boolean {
  return primary.name === '' ? host === primary.host && port === primary.port : name === primary.name
}

/** HAProxy takes only addresses, and its commands are lines of text: no other word may get into them. */
function placeOf({ host, port }: Place): Place {
  return isIP(host) === 0 || !(port >= 1 && port <= 65_535) ? nowhere : { host, port }
}

function isNowhere({ host, port }: Place): boolean {
  return host === nowhere.host && port === nowhere.port
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
      const place = (instance.word === null ? last : undefined) ?? placeOf(instance)
      places.set(seat, place)
      const state = isNowhere(place) ? 'maint' : states[target.state]
      slots.push([readSlot(seat), { ...place, state, weight: target.weight }])
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

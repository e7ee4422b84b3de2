import { isWhole } from './runtime-socket.ts'

/** The state of one server line of HAProxy, wanted or found. */
export interface Slot {
  readonly host: string
  readonly port: number
  readonly state: 'ready' | 'drain' | 'maint'
  readonly weight: number
}

/** Each line by `backend/server`. */
export type Slots = ReadonlyMap<string, Slot>

export const gate = 'gate/open'
export const primarySlot = 'primary/primary'
export const readSlot = (at: number): string => `reads/r${at}`
/** The highest number of instances in a cluster. */
export const readSlots = 16
/** An address where nobody listens: a session that is led there is refused, and its client tries again. */
export const nowhere = { host: '127.0.0.1', port: 1 } as const

/**
 * Runtime commands that change one state of HAProxy into the other. Commands that close something come first. The gate
 * opens in a step of its own: HAProxy must have said before that everything behind the gate is in place.
 */
export function stepsBetween(is: Slots, wanted: Slots): readonly (readonly string[])[] {
  const changed = [...wanted].filter(([name, slot]) => !isSame(is.get(name), slot))
  const closing = changed.filter(([, { state }]) => state !== 'ready')
  const opening = changed.filter(([name, { state }]) => state === 'ready' && name !== gate)
  const gateOpens = changed.filter(([name, { state }]) => state === 'ready' && name === gate)
  const inStep = (slots: typeof changed): readonly string[] =>
    slots.flatMap(([name, slot]) => commandsFor(name, is.get(name), slot))
  return [inStep([...closing, ...opening]), inStep(gateOpens)].filter((commands) => commands.length > 0)
}

function commandsFor(name: string, is: Slot | undefined, { host, port, state, weight }: Slot): readonly string[] {
  const moves = is?.host !== host || is.port !== port
  const commands: readonly (readonly [boolean, string])[] = [
    [moves, `set server ${name} addr ${host} port ${port}`],
    [is?.weight !== weight, `set server ${name} weight ${weight}`],
    [is?.state !== state, `set server ${name} state ${state}`],
    // HAProxy leaves the sessions of a line where they were when the line's address moves.
    [moves || state === 'maint', `shutdown sessions server ${name}`],
  ]
  return commands.flatMap(([isNeeded, command]) => (isNeeded ? [command] : []))
}

function isSame(a: Slot | undefined, b: Slot): boolean {
  return a !== undefined && a.host === b.host && a.port === b.port && a.state === b.state && a.weight === b.weight
}

const column = { backend: 1, server: 3, address: 4, admin: 6, weight: 7, port: 18 } as const
const maintained = 0x01 | 0x02 | 0x20
const draining = 0x08 | 0x10

/**
 * The lines in an answer to `show servers state`. Throws on any other text, and on a part of an answer: whoever takes a
 * line for unknown ends its sessions.
 */
export function readSlotsOf(text: string): Slots {
  if (!isWhole(text)) throw new Error(`HAProxy did not tell the whole state of its servers: ${text.slice(0, 200)}`)
  const rows = text
    .split('\n')
    .map((line) => line.trim().split(' '))
    .filter((row) => row.length > column.port && /^\d+$/.test(row[0] ?? ''))
  if (rows.length === 0) throw new Error(`HAProxy did not tell the state of its servers: ${text.slice(0, 200)}`)
  return new Map(rows.map((row) => [`${row[column.backend]}/${row[column.server]}`, slotOf(row)]))
}

function slotOf(row: readonly string[]): Slot {
  const admin = Number(row[column.admin])
  return {
    host: row[column.address] ?? '',
    port: Number(row[column.port]),
    state: admin & maintained ? 'maint' : admin & draining ? 'drain' : 'ready',
    weight: Number(row[column.weight]),
  }
}

import type { StoredState } from '../../../agents/instance/stored-state.ts'
import type { Machine } from '../machine.ts'

const slotBytes = 65_536
const headerBytes = 52

/** What an agent that starts now would find of the agents before: read again only where something was written. */
export class OnDisk {
  readonly #seen = new Map<Machine, { readonly writes: number; readonly state: StoredState | undefined }>()

  of(machine: Machine): StoredState | undefined {
    const { writes } = machine.disk
    const known = this.#seen.get(machine)
    if (known?.writes === writes) return known.state
    const bytes = machine.disk.peek('state')
    const slots = bytes === undefined ? [] : [slotIn(bytes, 0), slotIn(bytes, 1)].flatMap((slot) => slot ?? [])
    const state = slots.toSorted((a, b) => b.sequence - a.sequence)[0]?.state
    this.#seen.set(machine, { writes, state })
    return state
  }
}

/** Undefined for a slot that was torn. */
function slotIn(
  bytes: Uint8Array,
  index: number,
): { readonly sequence: number; readonly state: StoredState } | undefined {
  const slot = Buffer.from(bytes.buffer, bytes.byteOffset + index * slotBytes, slotBytes)
  const text = slot.toString('utf8', headerBytes, headerBytes + slot.readUInt32LE(16))
  try {
    return { sequence: Number(slot.readBigUInt64LE(8)), state: JSON.parse(text) as StoredState }
  } catch {
    return undefined
  }
}

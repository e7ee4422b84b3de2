import type { StoredState } from '#agents/instance/stored-state.ts'
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
    const state = bytes && newestState(bytes)
    this.#seen.set(machine, { writes, state })
    return state
  }
}

/** The older slot counts where the newer one was torn. */
function newestState(bytes: Uint8Array): StoredState | undefined {
  const slots = [0, 1].map((index) => Buffer.from(bytes.buffer, bytes.byteOffset + index * slotBytes, slotBytes))
  const [newer, older] = slots.toSorted((a, b) => sequenceIn(b) - sequenceIn(a))
  return (newer && stateIn(newer)) ?? (older && stateIn(older))
}

function sequenceIn(slot: Buffer): number {
  return Number(slot.readBigUInt64LE(8))
}

/** Undefined for a slot that was torn. */
function stateIn(slot: Buffer): StoredState | undefined {
  try {
    return JSON.parse(slot.toString('utf8', headerBytes, headerBytes + slot.readUInt32LE(16))) as StoredState
  } catch {
    return undefined
  }
}

import { RegentError } from '#common/errors/errors.ts'
import { joined, say } from '#common/sentence/sentence.ts'
import type { Interruptible, ObjectStore } from '#object-store/object-store.ts'
import { keyOf } from '../objects/object-key.ts'
import { pieceName, type Piece } from '../objects/piece-name.ts'
import type { Plan } from '../restore/restore-plan.ts'
import type { KeyRing } from '../keys/key-ring.ts'
import type { ReplaySize } from '../restore/space.ts'
import { lookAtHead } from './piece-object.ts'

/** A head has some hundred bytes. Each byte counts in a store with a piece every few seconds. */
export const headRange = { from: 0, to: 4_096 }
const atOnce = 16

/**
 * Looks at the head of each piece that a plan replays: a restore that finds a wrong key in its middle was for nothing.
 * Throws `REGENT_REFUSED` for a piece with none of the keys at hand, a plain piece, and a piece whose name nobody
 * signed. Throws `REGENT_BACKUP_UNUSABLE` for a piece under another name than was signed. Rejects as the store does.
 * @returns the size of all pieces, as their heads say
 */
export async function requireKeys(
  { backup: { cluster, lineage, name }, steps }: Pick<Plan, 'backup' | 'steps'>,
  { store, key }: { readonly store: Pick<ObjectStore, 'get'>; readonly key: KeyRing | null },
  { signal }: Interruptible = {},
): Promise<ReplaySize> {
  const pieces = steps.map(({ piece }) => piece).values()
  const lacking = new Map<string, Piece>()
  let [bytes, largestBytes] = [0, 0]
  const look = async (): Promise<void> => {
    // Each taker of this iterator has pieces of its own.
    for (const piece of pieces) {
      const stored = store.get(keyOf({ kind: 'piece', cluster, piece }), headRange, { signal })
      const { lacks, rawBytes } = await lookAtHead(stored, { cluster, lineage, piece }, key)
      if (lacks !== null && !lacking.has(lacks)) lacking.set(lacks, piece)
      bytes += rawBytes
      largestBytes = Math.max(largestBytes, rawBytes)
    }
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, steps.length) }, look))
  const [first] = lacking.values()
  if (first === undefined) return { bytes, largestBytes }
  const ids = joined([...lacking.keys()].sort(), ', ')
  const at = pieceName(first)
  const given = key === null ? say`no key is given` : say`given is ${joined(key.ids, ', ')}`
  throw new RegentError(
    'REGENT_REFUSED',
    say`the archive behind backup ${name} is encrypted with ${ids} too (piece ${at}), and ${given}: write all keys into one file, a line of 64 hexadecimal digits each`,
    { remedy: '' },
  )
}

import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { isOfClone } from '../lifecycle/copy/clone-files.ts'
import { Keeper } from '../lifecycle/copy/keeper.ts'
import { cutToKept, headOf, readKept, readKeptStream, type KeepingPlace, type Kept } from '../lifecycle/copy/kept.ts'
import type { CopyInParts, CopyName, HalfCopy } from '../ports/volume.ts'
import { dataBytes } from './data-bytes.ts'
import { markRestored } from './restored-folder.ts'

/** What an agent that ended left of this copy. */
export async function halfCopy(place: KeepingPlace, of: CopyName): Promise<HalfCopy> {
  const { folder, journal } = place
  if (!existsSync(journal)) return { kept: null, bytes: 0, whyNot: '' }
  const kept = await readKept(place, of)
  if (isKept(kept)) return { kept: { folder, end: kept.end, read: () => readKeptStream(place, kept) } }
  return { kept: null, bytes: existsSync(folder) ? await dataBytes(folder) : 0, whyNot: kept }
}

function isKept(kept: Awaited<ReturnType<typeof readKept>>): kept is Kept {
  return typeof kept === 'object' && 'files' in kept
}

/** Before anything of the folder changes: a journal names what is there. */
export async function forgetKept({ journal, disk }: KeepingPlace): Promise<void> {
  if (!existsSync(journal)) return
  await disk.remove(journal)
  await disk.syncFolder(dirname(journal))
}

/**
 * Fills a folder with a copy. As long as that is not whole, a journal beside the folder says which parts are in there.
 */
export async function unpackCopy(place: KeepingPlace, copy: CopyInParts, from: string | null): Promise<void> {
  const { folder, disk } = place
  const keeper = await keeperOf(place, copy)
  if (copy.kept === null) await disk.makeFolder(folder)
  // Loaded only when needed: most agents never restore, and need not keep a library for that in memory.
  const { unpack } = await import('../lifecycle/copy/unpack.ts')
  const content = copy.read((end) => keeper?.ended(end))
  const { note } = await unpack(content, folder, isNotOfClone, { disk, keeper }).catch(async (error: unknown) => {
    // Nothing is written any more when that is told.
    await keeper?.rest().catch(() => undefined)
    throw error
  })
  await keeper?.rest()
  if (note === undefined) throw new Error('the stream is no copy of a server: its last file is missing')
  // What follows changes the folder.
  if (keeper !== undefined) await forgetKept(place)
  if (from !== null) await markRestored(folder, from)
}

const isNotOfClone = ({ kind, path, bytes }: { kind: string; path: string; bytes: number }) =>
  kind === 'file' && !isOfClone(path, bytes)

async function keeperOf(place: KeepingPlace, { name, kept }: CopyInParts): Promise<Keeper | undefined> {
  if (name === null) return undefined
  if (kept === null) return new Keeper(place, headOf(name), null)
  const found = await readKept(place, name)
  if (!isKept(found)) throw new Error(`what was kept of the copy is not there any more: ${String(found)}`)
  await cutToKept(place, found)
  return new Keeper(place, headOf(name), found)
}

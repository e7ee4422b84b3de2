import { randomBytes } from 'node:crypto'
import { mkdir, open, readdir, readFile, rename, rm, stat, unlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { RegentError } from '#common/errors/errors.ts'
import { say, type Sayable } from '#common/sentence/sentence.ts'
import type { Cell, CellName, Cells } from './cells.ts'
import { decodeText } from './shape.ts'
import { syncFolder } from '#common/files/sync-folder.ts'

/**
 * Cells in a folder, swapped without a lock, so that nothing can be left behind by a process that is killed or frozen.
 *
 * A cell is a folder with the text of each revision in a file of its own, and one empty file, the head, that says by
 * its name which of them counts:
 *
 *     record.shop/41-9f31c2d07ab4.json
 *     record.shop/42-5be0c7714e02.json
 *     record.shop/42-5be0c7714e02.head
 *
 * A swap writes its text beside them and then renames the head it read to one of its own. rename(2) is atomic and fails
 * once the old name is gone: of all who saw head 41, exactly one makes head 42. The random part lets no late comer
 * mistake a newer head for the one it read, however long it was frozen. The first text of a cell arrives by renaming a
 * prepared folder, which fails where a folder with something in it is.
 */
export function fileCells(root: string): Cells {
  return {
    place: `store ${root}`,
    whereIs: (name) => ({ object: join(root, name), removal: `rm -r ${join(root, name)}` }),
    read: (name, signal) => readCell(join(root, name), signal),
    swap: (name, expectedRevision, next, signal) =>
      swapCell({ root, name, folder: join(root, name) }, expectedRevision, next, signal),
    remove: (name, signal) => removeCell({ root, name, folder: join(root, name) }, signal),
    close: () => Promise.resolve(),
  }
}

interface Head {
  readonly revision: number
  /** `<revision>-<random>`: with `.head` the head's file name, with `.json` that of the text. */
  readonly base: string
}

interface Where {
  readonly root: string
  readonly name: CellName
  readonly folder: string
}

async function readCell(folder: string, signal: AbortSignal): Promise<Cell | undefined> {
  let last: string | undefined
  for (;;) {
    signal.throwIfAborted()
    const head = await findHead(folder)
    if (head === undefined) return undefined
    const path = join(folder, `${head.base}.json`)
    const bytes = await unlessMissing(readFile(path))
    if (bytes !== undefined) {
      // The manager that swapped may not have come so far: nobody may act on a revision that a power cut could take
      // back.
      await syncFolder(folder)
      return { revision: head.revision, text: decodeText(bytes, path) }
    }
    // Swapped between the two looks, and the old text was cleared away; a head that stays without its text is damage.
    if (last === head.base) throw damaged(folder, say`${head.base}.json is missing`)
    last = head.base
  }
}

async function swapCell(where: Where, expectedRevision: number, next: Cell, signal: AbortSignal): Promise<boolean> {
  const base = `${next.revision}-${randomBytes(6).toString('hex')}`
  const head = await findHead(where.folder)
  if ((head?.revision ?? 0) !== expectedRevision) return false
  if (head === undefined) return createCell(where, base, next.text, signal)
  const text = join(where.folder, `${base}.json`)
  await orRemoved(text, async () => {
    await writeSynced(text, next.text)
    await syncFolder(where.folder)
    signal.throwIfAborted()
  })
  const own = join(where.folder, `${base}.head`)
  if (!(await renamed(join(where.folder, `${head.base}.head`), own)) && !(await isThere(own))) {
    await unlessMissing(unlink(text))
    return false
  }
  await syncFolder(where.folder)
  await clearOlder(where.folder, next.revision)
  return true
}

async function createCell(where: Where, base: string, text: string, signal: AbortSignal): Promise<boolean> {
  await makeRoot(where.root)
  const draft = join(where.root, `.${where.name}.${base}.new`)
  // Missing while it is being prepared: a faster creator cleared it away.
  const prepared = await orRemoved(draft, async () => {
    const done = await unlessMissing(prepareDraft(draft, base, text))
    signal.throwIfAborted()
    return done
  })
  const created =
    prepared !== undefined &&
    ((await renamed(draft, where.folder)) || (await isThere(join(where.folder, `${base}.head`))))
  if (created) await syncFolder(where.root)
  // Drafts go: this draft where another's was faster, and drafts of creators that were killed. None can become the cell
  // any more.
  const drafts = (await readdir(where.root)).filter(
    (entry) => entry.startsWith(`.${where.name}.`) && entry.endsWith('.new'),
  )
  for (const entry of drafts) await rm(join(where.root, entry), { recursive: true, force: true })
  return created
}

/**
 * Renamed away first: a folder half emptied would be a damaged cell. What a killed remover leaves is cleared away by
 * the next creator.
 */
async function removeCell(where: Where, signal: AbortSignal): Promise<true> {
  const gone = join(where.root, `.${where.name}.${randomBytes(6).toString('hex')}.new`)
  signal.throwIfAborted()
  if (!(await renamed(where.folder, gone))) return true
  await syncFolder(where.root)
  await rm(gone, { recursive: true, force: true })
  return true
}

async function prepareDraft(draft: string, base: string, text: string): Promise<true> {
  await mkdir(draft, { mode: 0o700 })
  await writeSynced(join(draft, `${base}.json`), text)
  await writeSynced(join(draft, `${base}.head`), '')
  await syncFolder(draft)
  return true
}

/** The head of a cell; undefined where there is no cell. */
async function findHead(folder: string): Promise<Head | undefined> {
  const names = await unlessMissing(readdir(folder))
  if (names === undefined) return undefined
  const heads = names.flatMap((name) => {
    const match = /^(([0-9]+)-[0-9a-f]{12})\.head$/.exec(name)
    return match?.[1] === undefined ? [] : [{ revision: Number(match[2]), base: match[1] }]
  })
  // A listing during a rename can show both names, the old and the new.
  const newest = heads.sort((a, b) => b.revision - a.revision)[0]
  if (newest === undefined) throw damaged(folder, say`there is no <revision>-<random>.head in it`)
  return newest
}

/**
 * Renames; false when the source is gone or the target is a folder that holds something. On a file system of a network
 * it may be done all the same: one whose answer was lost is asked for again, and finds no source.
 */
async function renamed(from: string, to: string): Promise<boolean> {
  try {
    await rename(from, to)
    return true
  } catch (error) {
    if (['ENOENT', 'ENOTEMPTY', 'EEXIST'].includes(codeOf(error))) return false
    throw error
  }
}

/** Nobody else gives a file this name: it has a random part. */
async function isThere(path: string): Promise<boolean> {
  return (await unlessMissing(stat(path))) !== undefined
}

/** Texts of older revisions, among them those that a killed process wrote and never made the head. */
async function clearOlder(folder: string, revision: number): Promise<void> {
  const older = (await readdir(folder)).filter((name) => name.endsWith('.json') && Number.parseInt(name, 10) < revision)
  for (const name of older) await unlessMissing(unlink(join(folder, name)))
}

/** What could not be made leaves nothing: a disk stays full for long, and a manager tries again and again. */
async function orRemoved<Result>(path: string, make: () => Promise<Result>): Promise<Result> {
  try {
    return await make()
  } catch (error) {
    // The first error says what is wrong.
    await rm(path, { recursive: true, force: true }).catch(() => undefined)
    throw error
  }
}

async function makeRoot(root: string): Promise<void> {
  const first = await mkdir(root, { recursive: true, mode: 0o700 })
  if (first === undefined) return
  for (let folder = root; folder.length >= dirname(first).length; folder = dirname(folder)) await syncFolder(folder)
}

async function writeSynced(path: string, text: string): Promise<void> {
  await using file = await open(path, 'wx', 0o600)
  await file.writeFile(text)
  await file.sync()
}

async function unlessMissing<Result>(work: Promise<Result>): Promise<Result | undefined> {
  try {
    return await work
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? ''
}

function damaged(folder: string, what: Sayable): RegentError {
  return new RegentError(
    'REGENT_BAD_FILE',
    say`${folder} is damaged: ${what}; restore the folder, never delete parts of it by hand`,
  )
}

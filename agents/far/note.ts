import { readFile } from 'node:fs/promises'
import { writeSynced } from '#common/files/write-synced.ts'

/** What an agent of a far server keeps on its own side: which mysqld is its own. */
export interface Note<Kept> {
  read(): Promise<Kept | undefined>
  write(kept: Kept): Promise<void>
}

export function noteInFile<Name extends string>(
  path: string,
  names: readonly Name[],
): Note<Readonly<Record<Name, number>>> {
  return { read: () => readNote(path, names), write: (kept) => writeNote(path, kept) }
}

/** Numbers by name, in a file of the agent's own; undefined where there is no such file, or half of one. */
export async function readNote<Name extends string>(
  path: string,
  names: readonly Name[],
): Promise<Readonly<Record<Name, number>> | undefined> {
  try {
    const value = JSON.parse(await readFile(path, 'utf8')) as Readonly<Record<Name, number>> | null
    return names.every((name) => Number.isSafeInteger(value?.[name])) ? (value ?? undefined) : undefined
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT' || error instanceof SyntaxError) return undefined
    throw error
  }
}

/** Synced, and whole or not at all. */
export function writeNote(path: string, note: object): Promise<void> {
  return writeSynced(path, `${JSON.stringify(note)}\n`)
}

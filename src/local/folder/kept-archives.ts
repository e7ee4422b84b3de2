import { mkdir, readdir, rename } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { syncFolder } from '#common/files/sync-folder.ts'
import { isMissing } from '../files/input-file.ts'
import { archiveOf, type StateLayout } from './state-layout.ts'

/**
 * Moves what agents archived out of the instances' folders, to where no purge removes anything: an archive may be the
 * only copy of its transactions. What was moved before stays. Asked again after whatever ended in the middle, this goes
 * on to the end. Resolves to the folders of all archives that are kept, one for each instance that has any.
 */
export async function keepArchives(layout: StateLayout): Promise<readonly string[]> {
  for (const instance of await namesIn(layout.instances)) {
    const from = archiveOf(layout, instance)
    for (const archive of await namesIn(from)) await moveInto(join(layout.archives, instance), join(from, archive))
  }
  return (await namesIn(layout.archives)).map((instance) => join(layout.archives, instance))
}

/** On disk before anything else is removed. */
async function moveInto(folder: string, path: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await rename(path, join(folder, freeName(basename(path), new Set(await namesIn(folder)))))
  // The folders above, too: they may have been made just now.
  for (const one of [folder, dirname(folder), dirname(dirname(folder))]) await syncFolder(one)
}

/** An archive is named by its content, and may have been kept before. Nothing is overwritten. */
function freeName(name: string, taken: ReadonlySet<string>): string {
  if (!taken.has(name)) return name
  let number = 2
  while (taken.has(`${name}.${number}`)) number += 1
  return `${name}.${number}`
}

async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return (await readdir(folder)).toSorted()
  } catch (error) {
    if (isMissing(error)) return []
    throw error
  }
}

import { mebibytes, say, type Sentence } from '#common/sentence/sentence.ts'
import { basename } from 'node:path'
import type { Parts } from '../instance/parts.ts'
import type { ArchiveSize } from '../ports/volume.ts'

/** In a notice. */
const mostNamed = 5

/**
 * The archives that are too many for `archiveBytes`, oldest first as they are given. Never the newest, nor one of
 * `kept`, whatever they take: what they hold has only just ceased to be elsewhere.
 */
export function dueArchives(
  archives: readonly ArchiveSize[],
  archiveBytes: number,
  kept: readonly string[],
): readonly ArchiveSize[] {
  let totalBytes = archives.reduce((sum, { bytes }) => sum + bytes, 0)
  return archives.slice(0, -1).filter(({ folder, bytes }) => {
    const isDue = totalBytes > archiveBytes && !kept.includes(folder)
    if (isDue) totalBytes -= bytes
    return isDue
  })
}

/**
 * Removes what is due, and says which. Called after what was archived is cut off or replaced: nobody needs older
 * archives any more then, but people. Never rejects: the server goes on without it.
 * @param made the folders in which what was archived now is
 */
export async function pruneArchives(
  { volume, config, notices }: Pick<Parts, 'config' | 'notices' | 'volume'>,
  made: readonly string[],
): Promise<void> {
  const removed: ArchiveSize[] = []
  try {
    for (const archive of dueArchives(await volume.listArchives(), config.archiveBytes, made)) {
      await volume.removeArchive(archive.folder)
      removed.push(archive)
    }
  } catch (error) {
    notices.failed('ArchivesNotPruned', say`old archives could not be removed`, error)
  }
  if (removed.length > 0) notices.add('ArchivesPruned', sentenceAbout(removed, config.archiveBytes))
}

function sentenceAbout(removed: readonly ArchiveSize[], archiveBytes: number): Sentence {
  const more = removed.length > mostNamed ? say` and ${removed.length - mostNamed} more` : ''
  const names = removed.slice(0, mostNamed).map(({ folder }) => basename(folder))
  const size = mebibytes(removed.reduce((sum, { bytes }) => sum + bytes, 0))
  const which = say`the oldest archives (${names.join(', ')}${more}; ${size})`
  return say`${which} are removed, as all of them took more than ${mebibytes(archiveBytes)}`
}

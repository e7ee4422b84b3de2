import { counted, say } from '#common/sentence/sentence.ts'
import { existsSync } from 'node:fs'
import { mkdir, open, rename, rm, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { describeError } from '#common/errors/errors.ts'
import { parseGtidSet } from '#topology/gtid/gtid-set.ts'
import { listBinlogs, previousGtids, readBinlogSet } from '../binlog/set.ts'
import { listArchives, removeArchive } from '../binlog/archive.ts'
import type { AgentConfig } from '../instance/config.ts'
import { endedHow, glanceAtEnding } from './ended-how.ts'
import { noteFullFileSystem } from './error-log.ts'
import { archiveErrant } from '../binlog/errant-archive.ts'
import { begunHere } from '../binlog/begun-here.ts'
import { begunUnderOthers } from '../binlog/begun-under-others.ts'
import { withoutEffect } from '../binlog/without-effect.ts'
import { dataBytes } from './data-bytes.ts'
import { readPurgedNote, writePurgedNote } from '../binlog/purged-note.ts'
import { syncRelayLogs } from '../binlog/relay-logs.ts'
import { findTail, readTail, writeTail } from '../binlog/tail.ts'
import { readRange, visitTransactions } from '../binlog/transactions.ts'
import { readTrimPlan, trimTail } from '../binlog/unacknowledged-tail.ts'
import type { VolumePort } from '../ports/volume.ts'
import { forgetKept, halfCopy, unpackCopy } from './half-copy.ts'
import { noteRestored, restoredFrom } from './restored-folder.ts'
import { forgetServer } from '../instance/server-id.ts'
import { volumeLayout, type VolumeLayout } from '../instance/volume-layout.ts'
import { realCopyDisk, type CopyDisk } from '../lifecycle/copy/copy-disk.ts'
import { syncFolder } from '#common/files/sync-folder.ts'

/** The instance's volume on this machine's file system. */
export function createVolume(config: AgentConfig, wallMs: () => number, disk: CopyDisk = realCopyDisk): VolumePort {
  const layout = volumeLayout(config.volume)
  const { dataDir, archiveDir, besideDir, seedDir, seedJournal, oldDir } = layout
  const seedPlace = { folder: seedDir, journal: seedJournal, disk }
  const unused = [seedDir, oldDir, besideDir].map((from) => ({ from, to: `${from}.unused` }))
  return {
    syncRelayLogs: () => syncRelayLogs(dataDir),
    readBinlogSet: async () => (await readBinlogSet(dataDir)).set,
    notePurged: (gtids) => writePurgedNote(dataDir, gtids),
    readPurged: async () => (await readPurgedNote(dataDir)).toString(),
    listBinlogs: () => listBinlogs(dataDir),
    previousGtids: (name) => previousGtids(join(dataDir, name)),
    visitBinlog: (name, from, visit, signal) => visitTransactions(join(dataDir, name), from, visit, signal),
    readBinlog: ({ name, ...range }) => readRange(join(dataDir, name), range),
    findTail: (wanted) => findTail(dataDir, parseGtidSet(wanted)),
    readTail: (file, offset, end) => readTail(dataDir, file, offset, end),
    writeTail: (parts) => writeTail(dataDir, parts),
    endedHow: () => endedHow(layout),
    glanceAtEnding: () => glanceAtEnding(layout),
    async judgeTail(sourceHolds) {
      const plan = await readTrimPlan(dataDir, parseGtidSet(sourceHolds))
      if (plan.kind === 'nothing') return plan
      return {
        kind: plan.kind,
        gtids: plan.gtids,
        sentence: plan.kind === 'refuse' ? plan.reason : `the tail begins at ${plan.offset} of ${plan.file}`,
      }
    },
    async trimTail(sourceHolds) {
      const plan = await readTrimPlan(dataDir, parseGtidSet(sourceHolds))
      return plan.kind === 'trim'
        ? trimTail(plan, { dataDir, archiveDir, instance: config.instance, wallMs: wallMs() })
        : ''
    },
    withoutEffect: async (gtids) => (await withoutEffect(dataDir, parseGtidSet(gtids))).toString(),
    begunHere: (from) => begunHere(dataDir, from),
    begunUnderOthers: (part) => begunUnderOthers(dataDir, part),
    listArchives: () => listArchives(archiveDir),
    removeArchive,
    archiveErrant: (gtids) =>
      archiveErrant({ dataDir, archiveDir, instance: config.instance, gtids, wallMs: wallMs() }),
    halfCopyBytes: async () => (existsSync(seedDir) && !existsSync(seedJournal) ? dataBytes(seedDir) : 0),
    halfCopy: (of) => halfCopy(seedPlace, of),
    giveUpHalfCopy: () => forgetKept(seedPlace),
    async freshSeedFolder() {
      await forgetKept(seedPlace)
      await disk.remove(seedDir)
      return seedDir
    },
    async swapIn(from) {
      await swap(layout, from, oldDir)
      await rm(oldDir, { recursive: true, force: true })
    },
    async setUnusedAside({ needsBeside }) {
      if (existsSync(oldDir) && !existsSync(dataDir)) await rename(oldDir, dataDir)
      const isNeeded = (folder: string) =>
        folder === seedDir ? existsSync(seedJournal) : folder === besideDir && needsBeside
      for (const { from, to } of unused)
        if (existsSync(from) && !existsSync(to) && !isNeeded(from)) await rename(from, to)
    },
    async dropUnused() {
      const there = unused.filter(({ to }) => existsSync(to))
      for (const { to } of there) await rm(to, { recursive: true, force: true })
      return there.length > 0
    },
    unpackInto: (folder, copy, from) => unpackCopy({ ...seedPlace, folder }, copy, from),
    noteRestored,
    restoredFrom: () => restoredFrom(dataDir),
    swapBeside: (from) => swap(layout, from, besideDir),
    async swapBack() {
      if (!existsSync(besideDir)) return
      await rm(dataDir, { recursive: true, force: true })
      await rename(besideDir, dataDir)
      await syncFolder(config.volume)
    },
    dropBeside: () => rm(besideDir, { recursive: true, force: true }),
    dataBytes: () => dataBytes(dataDir),
    async freshStreamFolder() {
      await rm(layout.streamDir, { recursive: true, force: true })
      return layout.streamDir
    },
    hasStreamFolder: async () => existsSync(layout.streamDir),
    dropStreamFolder: () => rm(layout.streamDir, { recursive: true, force: true }),
    async freshRehearsalFolder() {
      await rm(layout.rehearsalDir, { recursive: true, force: true })
      return layout.rehearsalDir
    },
    hasRehearsalFolder: async () => existsSync(layout.rehearsalDir),
    dropRehearsalFolder: () => rm(layout.rehearsalDir, { recursive: true, force: true }),
    async probe() {
      const seen = await probe(config.volume)
      // From now on a missing message about a shutdown proves nothing.
      if (seen.failure === 'diskFull') await noteFullFileSystem(layout)
      return seen
    },
  }
}

/** Puts a copy in place of the data folder, which becomes `old`. */
async function swap({ volume, dataDir }: VolumeLayout, from: string, old: string): Promise<void> {
  await rm(old, { recursive: true, force: true })
  await rename(dataDir, old)
  await rename(from, dataDir)
  await forgetServer(dataDir)
  await syncFolder(volume)
}

/** Less than this is nothing: a server needs more for a single page of its logs. */
const fullBelowBytes = 131_072

/** Writes a small file where the agent keeps its own: what fails tells a full disk from a read-only file system. */
async function probe(volume: string): ReturnType<VolumePort['probe']> {
  const path = join(volume, 'agent', 'probe')
  const { bavail, bsize } = await statfs(volume)
  const freeBytes = bavail * bsize
  // A small file that exists already can be written on a disk that is full for everybody else.
  if (freeBytes < fullBelowBytes)
    return { freeBytes, failure: 'diskFull', detail: say`${counted(freeBytes, 'byte')} free` }
  try {
    await mkdir(join(volume, 'agent'), { recursive: true })
    const file = await open(path, 'w')
    try {
      await file.writeFile('probe')
    } finally {
      await file.close()
    }
    return { freeBytes, failure: null, detail: '' }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const failure =
      code === 'ENOSPC' || code === 'EDQUOT'
        ? 'diskFull'
        : code === 'EROFS' || code === 'EIO'
          ? 'readOnlyFilesystem'
          : null
    return { freeBytes, failure, detail: describeError(error) }
  }
}

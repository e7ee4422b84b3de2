import type { Ending, VolumePort } from '#agents/ports/volume.ts'
import { unionOf } from '#topology/snapshot/holdings.ts'
import { GtidSet, parseGtidSet } from '#topology/gtid/gtid-set.ts'
import type { Machine } from '../machine.ts'
import type { DataFolder, Transaction } from './data-folder.ts'

const sentences = {
  stopped: 'its error log says "Received SHUTDOWN"',
  crashed: 'it was killed',
  unknown: 'its error log is missing',
} as const

/** Transactions by GTID: files have bytes, and a simulated one is what it is. */
export type Written = Map<string, Transaction>

const tailFile = 'binlog.000001'

/**
 * A machine's volume, as far as safety rests on what it says.
 * @param folderOf where its logs are read; in its own data folder unless given
 */
export function simulatedVolume(
  machine: Machine,
  takes: () => Promise<void>,
  written: Written,
  folderOf: () => DataFolder | undefined = () => machine.folder,
): VolumePort {
  const tailOf = (held: GtidSet) => folderOf()?.binlog.filter(({ gtid }) => !held.contains(gtid)) ?? []
  const ending = (atAGlance: boolean): Ending => {
    const how = machine.mysqld?.isStopping || machine.ending === 'stopped' ? 'stopped' : 'crashed'
    const told = machine.endingTold(how, atAGlance)
    return { how: told, sentence: sentences[told] }
  }
  const reads = async (): Promise<void> => {
    await takes()
    if (machine.isBinlogUnreadable) throw new Error('the binlog cannot be read')
  }
  /** Puts `next` in place, under another server uuid, and gives back what was there. */
  const swap = (next: DataFolder | undefined): DataFolder | undefined => {
    const before = machine.folder
    if (next === undefined) throw new Error('there is no such folder')
    machine.folders.set('data', next)
    next.uuid = ''
    return before
  }
  const dropBeside = () => {
    const beside = machine.folders.get('beside')
    if (beside !== undefined && machine.folder !== undefined) machine.gaveUp(beside, machine.folder)
    machine.folders.delete('beside')
  }
  return {
    syncRelayLogs: async () => {
      const folder = folderOf()
      const written = folder?.relayLog.length ?? 0
      await takes()
      if (folder !== undefined) folder.syncedRelayLog = Math.min(written, folder.relayLog.length)
    },
    readBinlogSet: async () => {
      await takes()
      const folder = folderOf()
      return unionOf([folder?.inBinlog.toString(), folder?.received.toString(), folder?.notedPurged]).toString()
    },
    notePurged: async (gtids) => {
      await takes()
      const folder = folderOf()
      if (folder !== undefined) folder.notedPurged = gtids
    },
    readPurged: async () => folderOf()?.notedPurged ?? '',
    listBinlogs: async () => [],
    previousGtids: async () => '',
    // Nobody ships binlogs in the simulation.
    visitBinlog: async () => undefined,
    readBinlog: () => Promise.reject(new Error('no binlog is shipped in the simulation')),
    findTail: async (gtids) => {
      await reads()
      const wanted = parseGtidSet(gtids)
      const tail = tailIn(folderOf()).filter(({ gtid }) => wanted.contains(gtid))
      for (const transaction of tail) written.set(transaction.gtid.toString(), transaction)
      const end = bytesOf(tailIn(folderOf())).length
      return {
        files: [{ name: tailFile, head: Buffer.from(gtids), ranges: [{ offset: 0, end }] }],
        gtids: unionOf(tail.map(({ gtid }) => gtid.toString())).toString(),
        halfWrittenBytes: 0,
      }
    },
    readTail: async (_, offset, end) => {
      await reads()
      return bytesOf(tailIn(folderOf())).subarray(offset, end)
    },
    writeTail: async (parts) => {
      let wanted = GtidSet.empty
      const read: Buffer[] = []
      for await (const part of parts) {
        if ('head' in part) wanted = parseGtidSet(part.head.toString())
        else read.push(part.bytes)
      }
      await takes()
      const all = JSON.parse(Buffer.concat(read).toString()) as string[]
      machine.tail = all.flatMap((gtid) => written.get(gtid) ?? []).filter(({ gtid }) => wanted.contains(gtid))
      return tailFile
    },
    endedHow: async () => (await takes(), ending(false)),
    glanceAtEnding: async () => (await machine.errorLogIsRead(), ending(true)),
    judgeTail: async (sourceHolds) => {
      await reads()
      const held = parseGtidSet(sourceHolds)
      const folder = folderOf()
      const tail = tailOf(held)
      const gtids = unionOf(tail.map(({ gtid }) => gtid.toString())).toString()
      const copied = parseGtidSet(folder?.notedPurged ?? '').subtract(held)
      if (!copied.isEmpty())
        return { kind: 'refuse', gtids: unionOf([gtids, copied.toString()]).toString(), sentence: 'some was copied' }
      if (tail.length === 0) return { kind: 'nothing' }
      if (folder !== undefined && folder.binlog.length - tail.length < folder.newestFile)
        return { kind: 'refuse', gtids, sentence: 'it is in a binlog older than the newest' }
      const last = folder?.binlog.slice(-tail.length) ?? []
      return tail.every((transaction, at) => last[at] === transaction)
        ? { kind: 'trim', gtids, sentence: 'the tail is at the end of the newest binlog' }
        : { kind: 'refuse', gtids, sentence: 'what follows it the primary holds' }
    },
    trimTail: async (sourceHolds) => {
      await takes()
      const cut = folderOf()?.cutTail(parseGtidSet(sourceHolds))
      machine.cut(unionOf(cut?.tail.map(({ gtid }) => gtid.toString()) ?? []))
      // Where somebody switched acknowledgements off nobody can know: that shows as errant, and is archived.
      if (cut?.hadCommitted && machine.mysqld?.isLooseByHand !== true)
        machine.broken = `${machine.name} cut off what InnoDB had committed`
      const folder = folderOf()
      if (folder !== undefined) folder.uuid = ''
      return 'tail'
    },
    noteRestored: async () => undefined,
    halfCopyBytes: async () => 0,
    halfCopy: async () => ({ kept: null, bytes: 0, whyNot: '' }),
    giveUpHalfCopy: async () => undefined,
    freshRehearsalFolder: async () => 'rehearsal',
    hasRehearsalFolder: async () => false,
    dropRehearsalFolder: async () => undefined,
    restoredFrom: async () => undefined,
    unpackInto: async () => {
      throw new Error('no backup is restored in the simulation')
    },
    archiveErrant: async (gtids) => {
      await takes()
      machine.archived.push(gtids)
      return [`errant-${machine.archived.length}`]
    },
    withoutEffect: async (gtids) => {
      await takes()
      const wanted = parseGtidSet(gtids)
      const found = folderOf()?.binlog.filter(({ gtid, changesNothing }) => changesNothing && wanted.contains(gtid))
      return unionOf((found ?? []).map(({ gtid }) => gtid.toString())).toString()
    },
    // Nobody counts what begins at a simulated member.
    begunHere: async () => ({ all: 0, changing: 0 }),
    begunUnderOthers: async ({ uuid, from, to }) => {
      await reads()
      const found = folderOf()
        ?.binlog.slice(from.position, to.position)
        .filter(({ gtid, serverId }) => serverId === folderOf()?.serverId && !gtid.toString().startsWith(uuid))
      return { gtids: unionOf((found ?? []).map(({ gtid }) => gtid.toString())).toString(), end: to }
    },
    listArchives: async () => [],
    removeArchive: async () => undefined,
    freshSeedFolder: async () => (machine.folders.delete('seed'), 'seed'),
    // Nobody streams a copy in a simulation.
    dataBytes: async () => 0,
    freshStreamFolder: async () => 'stream',
    hasStreamFolder: async () => false,
    dropStreamFolder: async () => undefined,
    swapIn: async (from) => {
      await takes()
      const before = swap(machine.folders.get(from))
      if (before !== undefined && machine.folder !== undefined) machine.gaveUp(before, machine.folder)
      machine.folders.delete(from)
    },
    setUnusedAside: async ({ needsBeside }) => {
      if (!needsBeside) dropBeside()
    },
    // Folders take no room in a simulation.
    dropUnused: async () => false,
    swapBeside: async (from) => {
      await takes()
      const before = swap(machine.folders.get(from))
      machine.folders.delete(from)
      if (before !== undefined) machine.folders.set('beside', before)
    },
    swapBack: async () => {
      await takes()
      const beside = machine.folders.get('beside')
      if (beside === undefined) return
      machine.folders.set('data', beside)
      machine.folders.delete('beside')
    },
    dropBeside: async () => dropBeside(),
    probe: async () => ({ freeBytes: 1e10, failure: null, detail: '' }),
  }
}

/** What was received and not applied, and then the binlog. */
function tailIn(folder: DataFolder | undefined): readonly Transaction[] {
  if (folder === undefined) return []
  const inBinlog = new Set(folder.binlog)
  return [...folder.relayLog.filter((transaction) => !inBinlog.has(transaction)), ...folder.binlog]
}

function bytesOf(transactions: readonly Transaction[]): Buffer {
  return Buffer.from(JSON.stringify(transactions.map(({ gtid }) => gtid.toString())))
}

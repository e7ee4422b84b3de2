import { say, type Sentence } from '#common/sentence/sentence.ts'
import { parseGtidSet } from '#topology/gtid/gtid-set.ts'
import { unionOf } from '#topology/snapshot/holdings.ts'
import type { GtidText } from '#topology/snapshot/gtid-text.ts'
import type { Ending, VolumePort } from '#agents/ports/volume.ts'
import { RegentError } from '#common/errors/errors.ts'

interface Ports {
  /** The agent's own folder: what it notes is there. */
  readonly near: VolumePort
  readonly readExecuted: () => Promise<GtidText>
  /** What it got from its source, applied or not: that may be all that is left of what it was elected with. */
  readonly readReceived: () => Promise<GtidText>
  readonly syncRelayLogs: () => Promise<void>
}

/**
 * In mode async no replica was asked before clients were told: a stop may have told them no more than a crash. So the
 * tail is judged as that of a crash, and what another primary lacks of it is kept, named, and a person's to decide.
 */
const ending: Ending = { how: 'crashed', sentence: 'how mysqld ended is not known: only SQL reaches its host' }

/** The volume of a host that only SQL reaches: what the server says of itself while it answers, and nothing else. */
export function createSqlOnlyVolume({ near, readExecuted, readReceived, syncRelayLogs }: Ports): VolumePort {
  const refuse = (what: Sentence) => (): Promise<never> =>
    Promise.reject(new RegentError('REGENT_FAR_CANNOT', say`Regent cannot ${what} where only SQL reaches the host`))
  const [reads, copies] = [refuse(say`read logs`), refuse(say`copy data`)]
  return {
    ...near,
    syncRelayLogs,
    async readBinlogSet() {
      const received = await readReceived()
      // Only what was synced counts under a promise.
      await syncRelayLogs()
      return unionOf([received, await readExecuted()]).toString()
    },
    // Its own settings say for how long it keeps them.
    listBinlogs: () => Promise.resolve([]),
    previousGtids: () => Promise.resolve(null),
    visitBinlog: reads,
    readBinlog: reads,
    findTail: reads,
    readTail: reads,
    writeTail: refuse(say`write relay logs`),
    endedHow: () => Promise.resolve(ending),
    glanceAtEnding: () => Promise.resolve(ending),
    async judgeTail(sourceHolds) {
      const extra = parseGtidSet(await readExecuted()).subtract(parseGtidSet(sourceHolds))
      return extra.isEmpty()
        ? { kind: 'nothing' }
        : { kind: 'refuse', gtids: extra.toString(), sentence: 'nothing is cut where only SQL reaches the host' }
    },
    trimTail: refuse(say`cut a binlog`),
    archiveErrant: refuse(say`archive transactions`),
    // Nobody can look into them: each may have changed something.
    withoutEffect: () => Promise.resolve(''),
    begunHere: reads,
    begunUnderOthers: reads,
    swapIn: copies,
    swapBeside: copies,
    swapBack: () => Promise.resolve(),
    freshSeedFolder: copies,
    unpackInto: copies,
    dataBytes: copies,
    freshStreamFolder: copies,
    freshRehearsalFolder: refuse(say`rehearse a restore`),
    probe: () => Promise.resolve({ freeBytes: null, failure: null, detail: '' }),
  }
}

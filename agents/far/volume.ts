import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { RegentError } from '#common/errors/errors.ts'
import type { World } from '#common/ports/ports.ts'
import { sha256Of } from '#common/files/sha256.ts'
import { say, type Sentence } from '#common/sentence/sentence.ts'
import { relayLogHead } from '#binlog/relay-log-head.ts'
import { unreadable } from '#binlog/events.ts'
import { parseGtidSet } from '#topology/gtid/gtid-set.ts'
import type { GtidText } from '#topology/snapshot/gtid-text.ts'
import type { FarPlaces } from '../instance/config.ts'
import { tailChannel } from '../ports/tail.ts'
import type { Ending, RelayLogPart, VolumePort } from '../ports/volume.ts'
import { again } from './again.ts'
import { farCannot } from './cannot.ts'
import type { FarLogs, Mirror } from './mirror.ts'
import { syncScript, uuidScript, writeScript } from './scripts.ts'
import type { FarShell } from './ssh.ts'

interface Ports {
  /** The mirror's folder as a near volume: what reads logs reads them there. */
  readonly near: VolumePort
  readonly mirror: Pick<Mirror, 'bring'>
  readonly folder: string
  readonly endedHow: () => Promise<Ending>
  readonly shell: FarShell
  readonly clock: World['clock']
  readonly timers: World['timers']
  readonly freeBytes: () => number
  /** Command of the host that starts mysqld; undefined for none. */
  readonly start: string | undefined
  /** The `server_uuid` of the next start; its agent takes that for its server's from now on, too. */
  readonly renewUuid: () => Promise<string>
}

const writeMs = 60_000

/** The volume of a far host: its logs are mirrored and read here, and nothing of its data is ever replaced. */
export function createFarVolume(places: FarPlaces, ports: Ports): VolumePort {
  const { near, mirror, folder, endedHow, shell } = ports
  const binlogs: FarLogs = { remoteIndex: places.binlogIndex, localIndex: 'binlog.index' }
  const relayLogs: FarLogs = { remoteIndex: places.relayLogIndex, localIndex: 'relay-bin.index' }
  /** Back to where all of these must be. */
  const bringFor = (gtids: GtidText): Promise<void> => {
    const wanted = parseGtidSet(gtids)
    return mirror.bring([binlogs, relayLogs], (before) => !wanted.intersect(before).isEmpty())
  }
  const bringNewest = (): Promise<void> => bringFor('')
  const refuse = (what: Sentence) => (): Promise<never> => Promise.reject(farCannot(what))
  const copies = refuse(say`put a copy in place of the data`)
  return {
    ...near,
    syncRelayLogs: async () => void (await shell.run(syncScript, [places.relayLogBase])),
    async readBinlogSet() {
      await bringNewest()
      return near.readBinlogSet()
    },
    async notePurged(gtids) {
      await mkdir(folder, { recursive: true, mode: 0o700 })
      await near.notePurged(gtids)
    },
    // Its own settings say for how long it keeps them.
    listBinlogs: () => Promise.resolve([]),
    async findTail(wanted) {
      await bringFor(wanted)
      return near.findTail(wanted)
    },
    writeTail: (parts) => writeTail(parts, places, ports),
    endedHow,
    glanceAtEnding: endedHow,
    judgeTail: async (sourceHolds) => {
      await bringNewest()
      const extra = parseGtidSet(await near.readBinlogSet()).subtract(parseGtidSet(sourceHolds))
      return extra.isEmpty()
        ? { kind: 'nothing' }
        : {
            kind: 'refuse',
            gtids: extra.toString(),
            sentence: 'nothing is cut on a host where nothing of Regent runs',
          }
    },
    trimTail: refuse(say`cut a binlog`),
    async archiveErrant(gtids) {
      await bringFor(gtids)
      return near.archiveErrant(gtids)
    },
    async withoutEffect(gtids) {
      await bringFor(gtids)
      return near.withoutEffect(gtids)
    },
    async begunHere(from) {
      await mirror.bring([binlogs], () => true)
      return near.begunHere(from)
    },
    readyForCopyOver: () => readyForCopyOver(places, ports),
    swapIn: copies,
    swapBeside: copies,
    swapBack: () => Promise.resolve(),
    freshSeedFolder: copies,
    unpackInto: copies,
    dataBytes: refuse(say`copy the data`),
    freshStreamFolder: refuse(say`copy the data`),
    freshRehearsalFolder: refuse(say`rehearse a restore`),
    probe: () => Promise.resolve({ freeBytes: ports.freeBytes(), failure: null, detail: '' }),
  }
}

/** A copy ends its server, which has to come up with its new `server_uuid` and nobody's help. */
async function readyForCopyOver({ dataDir }: FarPlaces, { start, renewUuid, shell }: Ports): Promise<void> {
  if (start === undefined)
    throw new RegentError(
      'REGENT_FAR_CANNOT',
      say`a copy ends mysqld, and the hosts file has no start command for this host: give one, and manage the cluster anew`,
    )
  await shell.run(uuidScript, [dataDir, await renewUuid()])
}

/** As relay logs of the channel by which a tail is applied, in the folder where the server has its own. */
async function writeTail(
  parts: AsyncIterable<RelayLogPart>,
  { relayLogBase, relayLogIndex }: FarPlaces,
  ports: WritePorts,
): Promise<string> {
  const names: string[] = []
  let offset = 0
  for await (const part of parts) {
    const bytes = 'head' in part ? relayLogHead(part.head) : part.bytes
    if ('head' in part) {
      names.push(`${relayLogBase}-${tailChannel}.${String(names.length + 1).padStart(6, '0')}`)
      offset = 0
    }
    await writeFar(ports, names.at(-1) ?? '', { bytes, offset })
    offset += bytes.length
  }
  const index = `${relayLogIndex.replace(/\.index$/, '')}-${tailChannel}.index`
  await writeFar(ports, index, { bytes: Buffer.from(names.map((name) => `${name}\n`).join('')), offset: 0 })
  return names[0] ?? ''
}

type WritePorts = Pick<Ports, 'shell' | 'clock' | 'timers'>

/** A part of a file. What an attempt that was cut left behind it is written over. */
function writeFar(
  { shell, ...world }: WritePorts,
  path: string,
  { bytes, offset }: { readonly bytes: Buffer; readonly offset: number },
): Promise<void> {
  return again(world, async () => {
    const { stdout } = await shell.run(writeScript, [path, String(offset)], { input: bytes, deadlineMs: writeMs })
    if (stdout.toString('utf8').split(/\s/)[0] !== sha256Of(bytes))
      throw unreadable(say`bytes ${offset} to ${offset + bytes.length} of ${path} did not arrive whole on the host`)
  })
}

/** For a near volume on that folder: what it notes lies beside the mirrored logs. */
export async function makeMirrorFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await writeFile(join(folder, '.mirror'), '')
}

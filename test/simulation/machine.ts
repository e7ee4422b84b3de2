import type { Ending } from '#agents/ports/volume.ts'
import type { InstanceName, MemberId } from '#topology/snapshot/member.ts'
import type { FarHost } from './far/host.ts'
import { agentsPlace } from './far/roads.ts'
import type { MachineClock, ProcessLife } from './process-life.ts'
import { GtidSet } from '#topology/gtid/gtid-set.ts'
import { firstFolderNumber, serverIdOf } from '#failover/protocol/server-id.ts'
import { DataFolder, type Transaction } from './mysqld/data-folder.ts'
import { Mysqld } from './mysqld/mysqld.ts'
import { Receiver, type ReceiverPorts } from './mysqld/receiver.ts'
import { SimulatedDisk } from './simulated-disk.ts'

export const usualApplyMs = 4

export type EndingTold = (how: 'crashed' | 'stopped', atAGlance: boolean) => Ending['how']

/** What was on a volume at some moment. */
export interface VolumeSnapshot {
  readonly files: ReadonlyMap<string, Uint8Array>
  readonly folders: ReadonlyMap<string, DataFolder>
}

/** The machine of one instance: its disk, its volume and its mysqld, which outlives its agent. */
export class Machine {
  readonly name: InstanceName
  readonly host: string
  readonly clock: MachineClock
  readonly disk: SimulatedDisk
  /** Folders by path: the one that mysqld runs on, copies that are made, and one that stays beside. */
  readonly folders = new Map<string, DataFolder>()
  readonly archived: string[] = []
  /** Written from another's binlog, to be applied. */
  tail: readonly Transaction[] = []
  readonly #ports: Omit<ReceiverPorts, 'instance' | 'host'>
  bootNumber = 0
  /** Another number each time the volume is mounted. */
  mounting = 0
  /** Its pod was told to end. */
  isTerminating = false
  /** Who lived on a volume that was lost, or went back in time: what was held or promised last is not there. */
  goneMember: MemberId | undefined
  mysqld: Mysqld | null = null
  /** What an applier here takes for a transaction, at most. */
  slowestApplyMs = usualApplyMs
  /** How the last mysqld ended. */
  ending: 'crashed' | 'stopped' = 'crashed'
  agentLife: ProcessLife | null = null
  /** The host of a far server; null where the agent lives beside its server. */
  far: FarHost | null = null
  /** A frozen mysqld looks as if it ran. */
  hangsUnseen = false
  #lastPid = 1_000
  /** Thrown away here by a hand, and perhaps received again since. */
  thrownAway = GtidSet.empty
  /** Resolves once the disk has given the end of the error log. */
  errorLogIsRead = (): Promise<void> => Promise.resolve()
  /** The disk fails for a while. */
  isBinlogUnreadable = false
  /** What its files tell of how mysqld ended: at a glance, or read as a whole. */
  endingTold: EndingTold = (how) => how
  /** What must never happen and did. */
  broken: string | undefined
  /** mysqld starts, and its recovery commits what is prepared. */
  started: () => void = () => undefined
  /** One data folder takes the place of another, for good. */
  gaveUp: (gone: DataFolder, instead: DataFolder) => void = () => undefined
  /** Transactions were cut off the end of the binlog. */
  cut: (tail: GtidSet) => void = () => undefined
  readonly #onChange = new Set<() => void>()

  constructor(name: InstanceName, host: string, clock: MachineClock, ports: Omit<ReceiverPorts, 'instance' | 'host'>) {
    this.name = name
    this.host = host
    this.clock = clock
    this.#ports = ports
    this.disk = new SimulatedDisk(ports.time, ports.random)
  }

  get folder(): DataFolder | undefined {
    return this.folders.get('data')
  }

  /** Where its agent runs, as the network knows that. */
  get agentPlace(): string {
    return this.far === null ? this.name : agentsPlace
  }

  onMysqldChange(changed: () => void): () => void {
    this.#onChange.add(changed)
    return () => this.#onChange.delete(changed)
  }

  /** Throws where there is nothing to start on. */
  startMysqld(loadsPersisted = false): void {
    const { folder } = this
    if (folder === undefined) throw new Error(`${this.name} has no data folder`)
    if (this.mysqld !== null && this.mysqld.state !== 'dead') return
    this.#lastPid += 1
    this.ending = 'crashed'
    if (folder.uuid === '') folder.uuid = this.#ports.random.uuid()
    folder.serverId = serverIdOf(this.name, numberOf(folder))
    const mysqld = new Mysqld(this.#lastPid, folder, {
      ...this.#ports,
      slowestApplyMs: () => this.slowestApplyMs,
      receiver: (own) =>
        new Receiver(own, {
          ...this.#ports,
          instance: this.name,
          host: this.host,
          passedOver: (transaction) => this.#passedOver(transaction),
        }),
    })
    mysqld.loadsPersisted = loadsPersisted
    this.mysqld = mysqld
    this.started()
    mysqld.onChange(() => {
      if (mysqld.state === 'dead') this.ending = mysqld.isStopping ? 'stopped' : 'crashed'
      for (const changed of this.#onChange) changed()
    })
    for (const changed of this.#onChange) changed()
    this.#ports.time.after(this.#ports.random.between(100, 900), () => mysqld.begin())
  }

  /** What a hand had written so is found, and put right; likewise on a volume that went back with its number. */
  #passedOver({ gtid, isBorrowed }: Transaction): void {
    if (isBorrowed === true || this.goneMember !== undefined) return
    this.broken ??= `${this.name} passes over ${gtid.toString()}: it carries the server_id of an earlier server of ${this.name}`
  }

  /** A hand stops both threads of its channel and points the channel elsewhere: its relay logs are gone. */
  throwAwayReceived(): void {
    const { mysqld, folder } = this
    if (mysqld?.isUp !== true || folder === undefined) return
    this.thrownAway = this.thrownAway.union(folder.received.subtract(folder.executed))
    mysqld.receiver.stop()
    mysqld.applierRuns = false
    folder.forgetReceived()
  }

  /** `RESET BINARY LOGS AND GTIDS`, by a hand. */
  forgetGtids(): void {
    const { mysqld, folder } = this
    if (mysqld?.isUp !== true || folder === undefined) return
    this.thrownAway = this.thrownAway.union(folder.executed)
    folder.forgetGtids()
  }

  /** The power is gone, for agent and mysqld, and with it what was written and not synced. */
  crash(): void {
    this.agentLife?.die()
    this.agentLife = null
    this.losePower()
    this.disk.tear()
  }

  /** The same for the server alone. */
  losePower(): void {
    this.mysqld?.die()
    this.bootNumber += 1
    this.folder?.losePageCache((unsynced) => this.#ports.random.below(unsynced + 1))
  }

  /** Agent and mysqld are gone, with no power cut: what was written stays. */
  end(): void {
    this.agentLife?.die()
    this.agentLife = null
    this.mysqld?.die()
    this.disk.tear()
  }

  /** The volume was cut off and is mounted again, with no reboot: the page cache is lost. */
  mountAgain(): void {
    this.end()
    this.mounting += 1
    this.folder?.losePageCache((unsynced) => this.#ports.random.below(unsynced + 1))
  }

  snapshot(): VolumeSnapshot {
    const folders = [...this.folders].map(([path, folder]) => [path, folder.copy()] as const)
    return { files: this.disk.snapshot(), folders: new Map(folders) }
  }

  /** Another volume: an older one, or an empty one. */
  putVolume({ files, folders }: VolumeSnapshot): void {
    this.end()
    this.mounting += 1
    this.mysqld = null
    this.ending = 'crashed'
    this.disk.replaceBy(files)
    this.folders.clear()
    for (const [path, folder] of folders) this.folders.set(path, folder.copy())
  }
}

/** Another one for another `server_uuid`, and the same for the same: what an agent draws and keeps beside the data. */
function numberOf({ uuid }: DataFolder): number {
  return Math.max(firstFolderNumber, Number.parseInt(uuid.slice(0, 7), 16))
}

export const emptyVolume: VolumeSnapshot = { files: new Map(), folders: new Map() }

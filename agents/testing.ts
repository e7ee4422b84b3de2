import type { Disk } from '#common/ports/ports.ts'
import { realWorld } from '#common/ports/real-world.ts'
import { defaultTimings } from '#failover/protocol/timings.ts'
import type { PrimaryAssignment, ReplicaAssignment } from '#failover/protocol/assignment.ts'
import { orderVersion } from '#failover/protocol/message.ts'
import type { Lack, ProcessState, ServerState } from '#topology/snapshot/observation.ts'
import { unionOf } from '#topology/snapshot/holdings.ts'
import { anObservation, hostOf, memberOf, type ServerOverrides } from '#topology/testing.ts'
import type { AgentConfig } from './instance/config.ts'
import { FactLog } from './instance/fact-log.ts'
import { RunLog } from './instance/run-log.ts'
import { nothingKnown } from './instance/known.ts'
import type { Parts } from './instance/parts.ts'
import { Asks } from './instance/asks.ts'
import type { Watch } from '#common/watch/watch.ts'
import { Watcher } from '#common/watch/watcher.ts'
import { Watches } from '#common/watch/watches.ts'
import { Notices } from './instance/notices.ts'
import { Observer } from './observe/observer.ts'
import type { ProcessPort } from './ports/process.ts'
import type { Blocker, ServerPort } from './ports/server.ts'
import { freshState, StoredStateFile } from './instance/stored-state.ts'
import type { VolumePort } from './ports/volume.ts'

/** A disk in memory whose writes take a turn of the event loop, and which can lose the rest of a write. */
export class MemoryDisk implements Disk {
  readonly #files = new Map<string, Uint8Array>()
  #tear = false

  async read(path: string): Promise<Uint8Array | undefined> {
    return this.#files.get(path)?.slice()
  }

  async writeAt(path: string, offset: number, bytes: Uint8Array): Promise<void> {
    await Promise.resolve()
    const file = this.#files.get(path)
    if (file === undefined) throw new Error(`${path} does not exist`)
    const torn = this.#tear
    this.#tear = false
    file.set(torn ? bytes.subarray(0, 60) : bytes, offset)
    if (torn) throw new Error('died in the middle of a write')
  }

  async allocate(path: string, size: number): Promise<void> {
    this.#files.set(path, new Uint8Array(size))
  }

  /** The next write reaches the disk with its first bytes alone. */
  tearNextWrite(): void {
    this.#tear = true
  }

  /** Everything in the file is something else. */
  damage(path: string): void {
    this.#files.get(path)?.fill(1)
  }
}

/** What `shop-0` answers as an open primary, unless a test says otherwise. */
export function aServerState(overrides: ServerOverrides = {}): ServerState {
  const { server } = anObservation({ instance: 'shop-0', server: overrides })
  if (server === null) throw new Error('the fixture has a server')
  return server
}

export const primaryOfEpoch3: PrimaryAssignment = {
  version: orderVersion,
  cluster: 'shop',
  member: memberOf('shop-0'),
  epoch: 3,
  revision: 10,
  role: 'primary',
  peers: [],
  fenced: false,
  counted: ['shop-1', 'shop-2'],
  catchingUp: [],
  acks: 1,
  mayRestart: false,
}

/** `shop-0` follows `shop-1`, and is not counted. */
export const replicaOfEpoch3: ReplicaAssignment = {
  version: orderVersion,
  cluster: 'shop',
  member: memberOf('shop-0'),
  epoch: 3,
  revision: 10,
  role: 'replica',
  peers: [],
  fenced: false,
  source: { instance: 'shop-1', host: hostOf('shop-1'), port: 3306, agent: `${hostOf('shop-1')}:9400` },
  counted: false,
  sourceUuid: '',
  sourceHolds: '',
  sourcePurged: '',
}

/** A server that notes what it is told, and answers as a test sets it. Verbs can be replaced one by one. */
export class ScriptedServer implements ServerPort {
  readonly calls: string[] = []
  state: ServerState
  waiting = 0

  constructor(state: ServerState) {
    this.state = state
  }

  readState: ServerPort['readState'] = async () => this.state
  readHolds: ServerPort['readHolds'] = async () => ({
    executed: this.state.executed,
    owned: this.state.owned,
    received: this.state.received,
  })
  setReadOnly: ServerPort['setReadOnly'] = async (to) => void this.calls.push(`readOnly ${to}`)
  readonly open = async (): Promise<void> => void this.calls.push('open')
  readonly setOffline: ServerPort['setOffline'] = async (on) => void this.calls.push(`offline ${on ? 'on' : 'off'}`)
  readonly killForeignSessions = async (): Promise<void> => void this.calls.push('killForeignSessions')
  readonly killSessions: ServerPort['killSessions'] = async (ids) => void this.calls.push(`kill ${ids.join(',')}`)
  busySessions = async (): Promise<number> => 0
  foreignSessions = async (): Promise<number> => 0
  readonly endBusySessions = async (): Promise<void> => void this.calls.push('end busy sessions')
  openChanges: ServerPort['openChanges'] = async () => this.state.openChanges ?? []
  readonly waitingSessions = async (): Promise<number> => this.waiting
  readonly stopReceiver = async (): Promise<void> => void this.calls.push('stopReceiver')
  readonly startReceiver = async (): Promise<void> => void this.calls.push('startReceiver')
  readonly startApplier = async (): Promise<void> => void this.calls.push('startApplier')
  readonly stopApplier = async (): Promise<void> => void this.calls.push('stopApplier')
  readonly pointTo: ServerPort['pointTo'] = async ({ host }) => void this.calls.push(`pointTo ${host}`)
  setApplierOptions: ServerPort['setApplierOptions'] = async () => void this.calls.push('setApplierOptions')
  setStoppedOptions: ServerPort['setStoppedOptions'] = async () => this.calls.push('setStoppedOptions') > 0
  readonly forgetSource = async (): Promise<void> => void this.calls.push('forgetSource')
  readonly clearFilters = async (): Promise<void> => void this.calls.push('clearFilters')
  stillView: ServerPort['stillView'] = async () => ({
    gtids: this.state.executed,
    there: [],
    query: async () => [],
    end: () => undefined,
  })
  waitExecuted: ServerPort['waitExecuted'] = async (set) => {
    this.state = { ...this.state, executed: unionOf([this.state.executed, set]).toString() }
    return this.calls.push(`waitExecuted ${set}`) > 0
  }
  readonly waitApplied: ServerPort['waitApplied'] = async (set) => this.calls.push(`waitApplied ${set}`) > 0
  readonly waitReceived: ServerPort['waitReceived'] = async (set) => this.calls.push(`waitReceived ${set}`) > 0
  readonly forgetTail = async (): Promise<void> => void this.calls.push('forgetTail')
  applyTail: ServerPort['applyTail'] = async (firstFile, gtids) =>
    void this.calls.push(`applyTail ${firstFile} ${gtids}`)
  readonly setSemiSyncReplica: ServerPort['setSemiSyncReplica'] = async (on) =>
    void this.calls.push(`semiSyncReplica ${on ? 'on' : 'off'}`)
  setSemiSyncSource: ServerPort['setSemiSyncSource'] = async (acks) => void this.calls.push(`semiSyncSource ${acks}`)
  setGates: ServerPort['setGates'] = async (open) => void this.calls.push(`gates ${open.join(',')}`)
  killDumpThreads: ServerPort['killDumpThreads'] = async () => (this.calls.push('killDumpThreads'), [])
  waitSessionsGone: ServerPort['waitSessionsGone'] = async () => undefined
  writeMarker: ServerPort['writeMarker'] = async (_token, slot) => void this.calls.push(`marker ${slot}`)
  writeHeartbeat: ServerPort['writeHeartbeat'] = async () => void this.calls.push('heartbeat')
  writeEmpty: ServerPort['writeEmpty'] = async (gtid) => void this.calls.push(`empty ${gtid}`)
  setPasswords: ServerPort['setPasswords'] = async ({ generation, old }) =>
    void this.calls.push(`passwords ${generation} ${old}`)
  provisionAccount: ServerPort['provisionAccount'] = async (_name, statements) => void this.calls.push(...statements)
  oldestMs = 0
  blocking: readonly Blocker[] = []
  readonly oldestStatementMs = (): number => this.oldestMs
  readonly blockers = async (): Promise<readonly Blocker[]> => this.blocking
  readonly endBlocker = async ({ session }: Blocker): Promise<void> => void this.calls.push(`end session ${session}`)
  readonly probeWrite: ServerPort['probeWrite'] = async () => ({ result: 'ok', detail: '' })
  readonly setEvents: ServerPort['setEvents'] = async (on) => void this.calls.push(`events ${on ? 'on' : 'off'}`)
  changedEvents = 0
  readonly eventChanges = (): number => this.changedEvents
  recordEvents: ServerPort['recordEvents'] = async () => void this.calls.push('record events')
  cloneInto: ServerPort['cloneInto'] = async () => void this.calls.push('clone')
  cloneOver: ServerPort['cloneOver'] = async () => (this.calls.push('clone over'), '2026-11-27 16:00:00.000')
  requireCopied: ServerPort['requireCopied'] = async (begunAt) => void this.calls.push(`copied since ${begunAt}`)
  cloneLocal: ServerPort['cloneLocal'] = async (directory) => void this.calls.push(`clone here ${directory}`)
  endLocalClones: ServerPort['endLocalClones'] = async () => void this.calls.push('end clones')
  showCertificate: ServerPort['showCertificate'] = async ({ cert }) => void this.calls.push(`show ${cert}`)
  beginBinlogAfter: ServerPort['beginBinlogAfter'] = async () => void this.calls.push('beginBinlog')
  readonly purgeBinlogsBefore: ServerPort['purgeBinlogsBefore'] = async (file) =>
    void this.calls.push(`purge before ${file}`)
  setSetting: ServerPort['setSetting'] = async (name, value) => void this.calls.push(`set ${name} ${value}`)
  lacking: readonly Lack[] = []
  refusal = ''
  readonly lacks = async (): Promise<readonly Lack[]> => this.lacking
  supply: ServerPort['supply'] = async ({ schema }) => void this.calls.push(`supply ${schema ? 'all' : 'accounts'}`)
  supplyEverywhere: ServerPort['supplyEverywhere'] = async () => void this.calls.push('supply everywhere')
  readonly whyRefused = async (): Promise<string> => this.refusal
  readonly shutdown = async (): Promise<void> => void this.calls.push('shutdown')
  readonly disconnect = (): void => void this.calls.push('disconnect')
}

export class ScriptedProcess implements ProcessPort {
  state: ProcessState = 'running'
  pid: number | null = 1_000
  writesNoMore = false
  readonly note = ''
  readonly changedAtMs = 0
  readonly adopt = async (): Promise<void> => undefined
  readonly onChange: ProcessPort['onChange'] = () => undefined
  lookEveryMs = 0
  readonly lookEvery = (ms: number): void => void (this.lookEveryMs = ms)
  readonly isEmpty = async (): Promise<boolean> => false
  readonly initialise = async (): Promise<void> => undefined
  readonly start = async (): Promise<void> => void (this.state = 'running')
  readonly kill = async (): Promise<void> => void (this.state = 'dead')
  startsWithAccounts = false
  readonly accountsAtStart = (): void => void (this.startsWithAccounts = true)
  lacking: readonly Lack[] = []
  readonly lacks = async (): Promise<readonly Lack[]> => this.lacking
  readonly supply = async (): Promise<void> => undefined
  readonly dropAccountsFile = async (): Promise<void> => void (this.startsWithAccounts = false)
}

export const quietVolume: VolumePort = {
  syncRelayLogs: async () => undefined,
  readBinlogSet: async () => '',
  notePurged: async () => undefined,
  readPurged: async () => '',
  listBinlogs: async () => [],
  previousGtids: async () => '',
  visitBinlog: async () => undefined,
  readBinlog: () => Promise.reject(new Error('no binlog is there')),
  findTail: async () => ({ files: [], gtids: '', halfWrittenBytes: 0 }),
  readTail: async () => Buffer.alloc(0),
  writeTail: async () => 'relay-bin-regent_tail.000001',
  glanceAtEnding: async () => ({ how: 'crashed', sentence: 'killed' }),
  endedHow: async () => ({ how: 'crashed', sentence: 'killed' }),
  judgeTail: async () => ({ kind: 'nothing' }),
  trimTail: async () => '',
  archiveErrant: async () => ['archive'],
  withoutEffect: async () => '',
  begunHere: async () => ({ all: 1, changing: 1 }),
  begunUnderOthers: async ({ to }) => ({ gtids: '', end: to }),
  listArchives: async () => [],
  removeArchive: async () => undefined,
  swapIn: async () => undefined,
  setUnusedAside: async () => undefined,
  dropUnused: async () => false,
  swapBeside: async () => undefined,
  swapBack: async () => undefined,
  dropBeside: async () => undefined,
  freshSeedFolder: async () => 'seed',
  unpackInto: async () => undefined,
  noteRestored: async () => undefined,
  halfCopyBytes: async () => 0,
  halfCopy: async () => ({ kept: null, bytes: 0, whyNot: '' }),
  giveUpHalfCopy: async () => undefined,
  freshRehearsalFolder: async () => 'rehearsal',
  hasRehearsalFolder: async () => false,
  dropRehearsalFolder: async () => undefined,
  restoredFrom: async () => undefined,
  dataBytes: async () => 0,
  freshStreamFolder: async () => 'stream',
  hasStreamFolder: async () => false,
  dropStreamFolder: async () => undefined,
  probe: async () => ({ freeBytes: 1e10, failure: null, detail: '' }),
}

/** The parts of the agent of `shop-0`, on scripted ports and the real clock. */
export async function testParts(
  server: ScriptedServer,
  more: { process?: ScriptedProcess; volume?: Partial<VolumePort> } = {},
): Promise<Parts> {
  const { clock, timers } = realWorld
  const process = more.process ?? new ScriptedProcess()
  const volume = { ...quietVolume, ...more.volume }
  const timings = defaultTimings
  return {
    run: 'run-2',
    tail: () => ({ find: volume.findTail, read: volume.readTail }),
    firstIncarnation: '',
    config: {
      cluster: 'shop',
      instance: 'shop-0',
      host: '127.24.1.1',
      port: 3306,
      mode: 'semisync',
      lowSpaceBytes: 0,
      keepBinlogsSeconds: 259_200,
      heldBinlogsBytes: 21_474_836_480,
      serverSettings: {},
      archiveBytes: 4_294_967_296,
    },
    replicationPassword: 'secret',
    timings,
    world: realWorld,
    transport: { post: async () => ({}) },
    file: await StoredStateFile.open(new MemoryDisk(), 'state', () => freshState('volume-0', 'boot')),
    process,
    server,
    volume,
    notices: new Notices(clock, () => undefined),
    asks: new Asks(realWorld, () => undefined),
    answersAlone: ({ assignment }) => assignment?.role === 'primary' && assignment.group === undefined,
    clientCertificate: null,
    observer: new Observer({ process, server, volume, clock, timers, timings }, () => undefined),
    routers: () => 0,
    changed: () => undefined,
    wake: () => undefined,
    facts: new FactLog(clock),
    runs: new RunLog(clock),
    ...nothingKnown(clock.monotonicMs()),
  }
}

/** Looks at nothing before its `look` is called, and tells the notices. */
export function watcherOf({ world, notices }: Parts, watch: Watch): Watcher {
  return new Watcher(watch, world.clock, (code, sentence) => notices.add(code, sentence))
}

export function watchesOf({ world, notices }: Parts): Watches {
  return new Watches(world, (code, sentence) => notices.add(code, sentence))
}

export function anAgentConfig(overrides: Partial<AgentConfig> = {}): AgentConfig {
  return {
    version: 1,
    cluster: 'shop',
    mode: 'semisync',
    instance: 'shop-2',
    host: '127.24.1.3',
    port: 3306,
    adminPort: 3307,
    agentPort: 9400,
    probePort: 0,
    mysqld: ['/usr/sbin/mysqld'],
    mysqlbinlog: [],
    launcherDir: '',
    pluginDir: '',
    shareDir: '/usr/share/mysql',
    volume: '/var/lib/regent',
    tokenFile: '/run/token',
    accountSecretFile: '/run/secret',
    bootIdFile: '/proc/sys/kernel/random/boot_id',
    timings: {},
    lowSpaceBytes: 0,
    keepBinlogsSeconds: 259_200,
    heldBinlogsBytes: 21_474_836_480,
    archiveBytes: 4_294_967_296,
    serverSettings: {},
    logLevel: 'info',
    ...overrides,
  }
}

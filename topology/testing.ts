import { instanceName, memberId, ordinalOf, type InstanceName, type MemberId } from './snapshot/member.ts'
import {
  observationVersion,
  type Channel,
  type DumpThread,
  type Observation,
  type ServerState,
  type StoredSummary,
} from './snapshot/observation.ts'
import type { InstanceView, Snapshot } from './snapshot/snapshot.ts'

/**
 * Observations and snapshots for tests: a healthy cluster `shop` in epoch 1 at revision 1, whose primary is `shop-0`
 * and whose replicas all acknowledge, except for what a test overrides.
 */
export interface ObservationOverrides extends Partial<Omit<Observation, 'server' | 'stored'>> {
  /** Null: the server never answered. */
  readonly server?: ServerOverrides | null
  readonly stored?: Partial<StoredSummary>
  /** The instance that it follows; null makes it the primary. By default `shop-0`, and for `shop-0` none. */
  readonly follows?: InstanceName | null
}

export interface ServerOverrides extends Partial<Omit<ServerState, 'channel' | 'semiSyncSource'>> {
  /** Null: no channel is configured. */
  readonly channel?: Partial<Channel> | null
  readonly semiSyncSource?: Partial<ServerState['semiSyncSource']>
}

export interface ViewOverrides extends ObservationOverrides {
  readonly trouble?: string
  readonly starting?: true
  readonly reachable?: boolean
  /** The manager never heard of the instance. */
  readonly unheard?: true
  /** Its volume went back in time. */
  readonly past?: MemberId
}

export interface SnapshotShape {
  /** By default 3. */
  readonly instances?: number
  /** Whom the others follow; by default `shop-0`. */
  readonly primary?: InstanceName
}

export function uuidOf(instance: InstanceName): string {
  return `00000000-0000-0000-0000-${String(ordinalOf(instance)).padStart(12, '0')}`
}

export function hostOf(instance: InstanceName): string {
  return `127.24.1.${ordinalOf(instance) + 1}`
}

export function memberOf(instance: InstanceName): MemberId {
  return memberId(instance, `volume-${ordinalOf(instance)}`)
}

/** Transactions 1 … `last` of one instance, as a GTID set. */
export function gtids(instance: InstanceName, last: number): string {
  return `${uuidOf(instance)}:1-${last}`
}

export function anObservation(overrides: ObservationOverrides = {}): Observation {
  const { server, stored, follows, ...rest } = overrides
  const instance = overrides.instance ?? 'shop-1'
  const source = follows === undefined ? defaultSourceOf(instance) : follows
  return {
    version: observationVersion,
    cluster: 'shop',
    instance,
    member: memberOf(instance),
    agentRun: `run-of-${instance}`,
    bindsToRun: true,
    sequence: 1,
    regentVersion: '0.1.0',
    process: 'running',
    processNote: '',
    mysqldPid: 1000 + ordinalOf(instance),
    processSinceMs: 60_000,
    server: server === null ? null : aServer(instance, source, server ?? {}),
    silentMs: 0,
    probe: 'ok',
    probeDetail: '',
    freeBytes: 10_000_000_000,
    stored: aStoredSummary(instance, source, stored),
    promiseReport: null,
    converged: { revision: 1, done: true, sentence: 'as assigned' },
    markedRevision: source === null ? 1 : 0,
    binlogSet: null,
    lease: null,
    seedingProgress: null,
    peers: [],
    notices: [],
    ...rest,
  }
}

function defaultSourceOf(instance: InstanceName): InstanceName | null {
  const first = instanceName('shop', 0)
  return instance === first ? null : first
}

function aServer(instance: InstanceName, source: InstanceName | null, overrides: ServerOverrides): ServerState {
  const { channel, semiSyncSource, ...rest } = overrides
  const isPrimary = source === null
  // Everybody has the same history, whoever is primary now.
  const executed = gtids(instanceName('shop', 0), 100)
  return {
    uuid: uuidOf(instance),
    version: '9.7.4',
    readOnly: !isPrimary,
    superReadOnly: !isPrimary,
    offlineMode: false,
    executed,
    owned: '',
    purged: '',
    received: isPrimary ? '' : executed,
    channel: aChannel(instance, source, channel),
    dumpThreads: [],
    semiSyncSource: { enabled: isPrimary, intact: true, acks: 1, waiting: 0, unacknowledged: 0, ...semiSyncSource },
    openGates: [],
    runningSessions: 3,
    binlogNumber: 7,
    foreignTables: [],
    persisted: [],
    ...rest,
  }
}

function aChannel(
  instance: InstanceName,
  source: InstanceName | null,
  overrides: Partial<Channel> | null | undefined,
): Channel | null {
  if (overrides === null || (source === null && overrides === undefined)) return null
  const from = source ?? instance
  return {
    sourceHost: hostOf(from),
    sourcePort: 3306,
    sourceUser: `regent_${instance}`,
    sourceUuid: uuidOf(from),
    ioRunning: 'yes',
    sqlRunning: true,
    ioError: '',
    sqlError: '',
    backlogTransactions: 0,
    lagSeconds: null,
    semiSync: true,
    filtered: false,
    silentMs: 10,
    ...overrides,
  }
}

function aStoredSummary(
  instance: InstanceName,
  source: InstanceName | null,
  overrides: Partial<StoredSummary> | undefined,
): StoredSummary {
  return {
    promise: 1,
    revision: 1,
    assignment: {
      epoch: 1,
      revision: 1,
      role: source === null ? 'primary' : 'replica',
      counted: source !== null,
      fenced: false,
      source,
    },
    unsettled: false,
    forgetful: false,
    seeding: false,
    filterSeen: false,
    fromThePast: false,
    incarnation: `incarnation-of-${instance}`,
    earlierIncarnations: [],
    ...overrides,
  }
}

export function aDumpThreadOf(replica: InstanceName, overrides: Partial<DumpThread> = {}): DumpThread {
  return {
    threadId: 50 + ordinalOf(replica),
    user: `regent_${replica}`,
    host: hostOf(replica),
    serverUuid: uuidOf(replica),
    semiSync: true,
    ...overrides,
  }
}

/**
 * Instances `shop-0` … with what each test overrides, by name. The primary has a dump thread for every other instance.
 */
export function aSnapshot(
  overrides: Readonly<Record<InstanceName, ViewOverrides>> = {},
  shape: SnapshotShape = {},
): Snapshot {
  const primary = shape.primary ?? instanceName('shop', 0)
  const names = Array.from({ length: shape.instances ?? 3 }, (_, ordinal) => instanceName('shop', ordinal))
  const replicas = names.filter((name) => name !== primary)
  const views = names.map((name) =>
    aView(name, { follows: name === primary ? null : primary, ...overrides[name] }, replicas),
  )
  return { instances: views }
}

function aView(name: InstanceName, overrides: ViewOverrides, replicas: readonly InstanceName[]): InstanceView {
  const { reachable, unheard, past, trouble, starting, ...seen } = overrides
  const server =
    seen.server === null || seen.follows !== null ? seen.server : { ...servingReplicas(replicas), ...seen.server }
  return {
    name,
    host: hostOf(name),
    port: 3306,
    agent: `${hostOf(name)}:9400`,
    observation: unheard
      ? null
      : anObservation({ instance: name, ...seen, ...(server === undefined ? {} : { server }) }),
    heardAtMs: unheard ? null : 1_000,
    reachable: reachable ?? !unheard,
    ...(past === undefined ? {} : { past }),
    ...(trouble === undefined ? {} : { trouble }),
    ...(starting === undefined ? {} : { starting }),
  }
}

function servingReplicas(replicas: readonly InstanceName[]): ServerOverrides {
  return { dumpThreads: replicas.map((replica) => aDumpThreadOf(replica)), openGates: replicas }
}

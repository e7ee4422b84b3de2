import { summaryOf } from '../../agents/instance/stored-state.ts'
import type { Channel, Observation, ServerState, StoredSummary } from '../../topology/snapshot/observation.ts'
import { hostOf } from '../../topology/testing.ts'
import {
  backlogOf,
  forgetfulAs,
  isConnected,
  memberOf,
  noticeEnding,
  runOf,
  serverUuidOf,
  waitingOf,
  type Instance,
} from './instance.ts'
import type { ModelWorld } from './model-world.ts'

/** What the agent of `instance` says now. */
export function observe(world: ModelWorld, instance: Instance): Observation {
  const { name, memory, mysqld, ending } = instance
  // The look into the log comes before the silence is shown (`agents/doubts/ending.ts`).
  if (ending && !world.flaws.showsSilenceFirst) noticeEnding(instance)
  const stored = storedSummary(world, instance)
  return {
    version: 1,
    cluster: 'shop',
    instance: name,
    member: memberOf(instance),
    agentRun: runOf(instance),
    bindsToRun: true,
    sequence: world.nowMs,
    regentVersion: '0.1.0',
    process: ending ? 'running' : mysqld,
    processNote: '',
    mysqldPid: instance.pid,
    processSinceMs: 5_000,
    server: mysqld === 'dead' ? null : serverState(world, instance),
    silentMs: mysqld === 'stopped' ? 5_000 : 0,
    probe: mysqld === 'stopped' ? 'stuck' : 'ok',
    probeDetail: '',
    freeBytes: null,
    stored:
      world.flaws.hidesForgetfulness || world.flaws.hidesUnsettled
        ? {
            ...stored,
            forgetful: stored.forgetful && !world.flaws.hidesForgetfulness,
            unsettled: stored.unsettled && !world.flaws.hidesUnsettled,
          }
        : stored,
    promiseReport: memory.report,
    converged: memory.converged,
    markedRevision: memory.markedRevision,
    binlogSet: memory.binlogSet,
    lease: null,
    seedingProgress: instance.seedsFrom === null ? null : { stage: 'copying', percent: 0, donor: instance.seedsFrom },
    ...(stored.forgetful && memory.catchUpTo === null ? { forgetfulAs: forgetfulAs(instance) } : {}),
    ...(world.flaws.saysItBefore ? {} : { heardForgetful: memory.heardForgetful }),
    lacksElected: world.flaws.opensWithLess ? '' : memory.lacksElected,
    ...openingOf(instance, world.nowMs),
    peers: [],
    notices: [],
  }
}

/** `agents/observe/observation.ts`. */
function openingOf(
  { disk: { assignment }, memory: { openingSince } }: Instance,
  nowMs: number,
): Pick<Observation, 'openingMs'> {
  return openingSince === null || assignment?.role !== 'primary' || assignment.epoch !== openingSince.epoch
    ? {}
    : { openingMs: nowMs - openingSince.atMs }
}

/**
 * A replica that must know what its source holds, and does not, says that it acts on no revision
 * (`agents/observe/observation.ts`).
 */
function storedSummary(world: ModelWorld, { disk, memory, mysqld }: Instance): StoredSummary {
  const summary = summaryOf(disk)
  const unseen = summary.assignment?.counted === true && !memory.trustsAssignment && !world.flaws.acknowledgesUntold
  const waits = unseen || (memory.sourceHolds === null && disk.mayHaveTail && mysqld !== 'running')
  return waits && summary.assignment?.role === 'replica'
    ? { ...summary, assignment: { ...summary.assignment, revision: 0 } }
    : summary
}

function serverState(world: ModelWorld, instance: Instance): ServerState {
  const { server, held, committed } = instance
  const { ledger } = world
  const channel = channelOf(world, instance)
  return {
    uuid: serverUuidOf(instance),
    version: '9.7.4',
    readOnly: !server.open,
    superReadOnly: !server.open,
    offlineMode: instance.disk.assignment?.role === 'primary' && !server.open,
    executed: ledger.textOf(committed),
    owned: ledger.textOf(held & ~committed),
    purged: '',
    received: channel === null ? '' : ledger.textOf(held),
    channel,
    dumpThreads: [],
    semiSyncSource: {
      enabled: server.acks > 0,
      intact: true,
      acks: server.acks,
      waiting: waitingOf(instance),
      unacknowledged: 0,
    },
    openGates: [...server.gates],
    runningSessions: 0,
    binlogNumber: 1,
    foreignTables: [],
    persisted: [],
  }
}

function channelOf(world: ModelWorld, instance: Instance): Channel | null {
  const { channel } = instance.server
  const source = channel && world.named(channel.source)
  if (!channel || !source) return null
  const connected = isConnected(instance, source)
  return {
    sourceHost: hostOf(channel.source),
    sourcePort: 3306,
    sourceUser: '',
    sourceUuid: connected ? serverUuidOf(source) : '',
    ioRunning: ioState(channel.running, connected),
    sqlRunning: true,
    ioError: '',
    sqlError: '',
    backlogTransactions: backlogOf(instance),
    lagSeconds: null,
    semiSync: channel.semiSync,
    filtered: false,
    silentMs: channel.running ? 0 : null,
  }
}

function ioState(running: boolean, connected: boolean): Channel['ioRunning'] {
  if (!running) return 'no'
  return connected ? 'yes' : 'connecting'
}

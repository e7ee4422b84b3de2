import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { again } from '#agents/far/again.ts'
import type { FarPlace } from '#agents/far/place.ts'
import type { OwnStart } from '#agents/far/own-start.ts'
import { FarProcess } from '#agents/far/process.ts'
import { bootIdScript, endingScript, logsScript, markScript, pieceScript, writeScript } from '#agents/far/scripts.ts'
import { sightOf } from '#agents/far/sight.ts'
import { SqlPulse } from '#agents/far/sql-only/pulse.ts'
import { sqlSightOf } from '#agents/far/sql-only/sight.ts'
import { createSqlOnlyVolume } from '#agents/far/sql-only/volume.ts'
import type { FarShell } from '#agents/far/ssh.ts'
import { untilReached } from '#agents/far/until-reached.ts'
import { createFarVolume } from '#agents/far/volume.ts'
import type { AgentConfig, FarConfig } from '#agents/instance/config.ts'
import type { ServerPort } from '#agents/ports/server.ts'
import type { VolumePort } from '#agents/ports/volume.ts'
import type { ProcessIdentity } from '#common/process/process-stat.ts'
import { createLogger } from '#common/log/logger.ts'
import type { Machine } from '../machine.ts'
import type { SimulatedServer } from '../mysqld/server-port.ts'
import { simulatedVolume, type Written } from '../mysqld/volume-port.ts'
import type { ProcessLife } from '../process-life.ts'
import type { VirtualTime } from '../virtual-time.ts'
import type { FarHost } from './host.ts'
import { SimulatedShell } from './shell.ts'

export interface FarPorts {
  readonly time: VirtualTime
  readonly server: SimulatedServer
  /** By sessions that only look, at whatever start. */
  readonly looking: SimulatedServer
  readonly ownStart: OwnStart
  readonly beginAnew: (why: RegentError) => void
  readonly takes: () => Promise<void>
  readonly written: Written
}

/** Nobody reads what one agent of many in memory writes there. */
export const silentLog = createLogger({ level: 'silent', name: 'simulated' })

const places = {
  ...{ dataDir: '/data', pidFile: '/data/pid', binlogIndex: '/data/binlog.index', errorLog: '/data/error.log' },
  ...{ relayLogBase: '/data/relay', relayLogIndex: '/data/relay.index' },
}

const askStartMs = 700
const syncMs = 10_000

export function farConfigOf({ reach, hasStartCommand }: FarHost, { folder }: Machine): FarConfig {
  return {
    ...{ agentHost: '10.24.9.1', user: 'keeper', passwordFile: '/password', serverUuid: folder?.uuid ?? '', places },
    ...(reach === 'ssh' && { ssh: { user: 'mysql', port: 22, keyFile: '/key', knownHostsFile: '/known' } }),
    ...(reach === 'ssh' && hasStartCommand && { start: 'systemctl start mysql' }),
  }
}

interface Far {
  readonly machine: Machine
  readonly host: FarHost
  readonly life: ProcessLife
  readonly far: AgentConfig & { readonly far: FarConfig }
}

type Place = Promise<Pick<FarPlace, 'ports' | 'whyBlind'>>

/** As `agents/place.ts`: the shipped ports of a far agent, on roads that can be cut. Waits for its host. */
export function farPlaceOf(far: Far, ports: FarPorts): Place {
  return far.host.reach === 'ssh' ? bySsh(far, ports) : bySqlAlone(far, ports)
}

const refuse = async () => async () => undefined

async function bySsh(
  { machine, host, life, far: config }: Far,
  { time, server, ownStart, beginAnew, takes, written }: FarPorts,
): Place {
  const { world } = life
  const shell: FarShell = life.port<FarShell>(new SimulatedShell(machine, { time, life, host }))
  const reached = { ...world, log: silentLog, refuse }
  const bootId = await untilReached(async () => (await shell.run(bootIdScript, [])).stdout.toString().trim(), reached)
  const process = new FarProcess(config.far, {
    ...{ ...world, shell, bootId, ownStart, note: life.port(host.note<ProcessIdentity>('mysqld')) },
    rebooted: () => beginAnew(new RegentError('REGENT_REBOOTED', say`${machine.name} was started anew`)),
    taking: async () => void (await shell.run(markScript, []).catch(() => undefined)),
  })
  const onHost = life.port<VolumePort>(simulatedVolume(machine, takes, written))
  const near = life.port<VolumePort>(simulatedVolume(machine, takes, written, () => host.mirror))
  const bring = async (): Promise<void> => {
    await shell.run(logsScript, [])
    await again(world, () => shell.run(pieceScript, []))
    await takes()
    const notedPurged = host.mirror?.notedPurged ?? ''
    host.mirror = machine.folder?.copy()
    if (host.mirror !== undefined) host.mirror.notedPurged = notedPurged
  }
  const volume = createFarVolume(places, {
    ...{ ...world, near, shell, folder: '/mirror', mirror: life.port({ bring }) },
    endedHow: async () => (await shell.run(endingScript, []), onHost.endedHow()),
    freeBytes: () => process.freeBytes,
    // No copy goes over the data of a simulated host.
    start: undefined,
    renewUuid: () => Promise.reject(new Error('the start command is asked for first')),
  })
  return sightOf({
    ...{ host: machine.host, clock: world.clock, shell, bootId, process, see: () => undefined },
    server: life.port<ServerPort>(server),
    volume: {
      ...volume,
      notePurged: (gtids) => near.notePurged(gtids),
      writeTail: async (parts) => (await again(world, () => shell.run(writeScript, [])), onHost.writeTail(parts)),
    },
  })
}

async function bySqlAlone(
  { machine, host, life, far: { far, ...config } }: Far,
  { server, looking, ownStart, takes, written }: FarPorts,
): Place {
  const { world } = life
  const sql = life.port({
    // Its own clock counts from its start.
    askStart: () => looking.statement(({ startedAt }) => startedAt, askStartMs),
    readExecuted: () => looking.statement(({ folder }) => folder.executed.toString(), askStartMs),
    readReceived: () => looking.statement(({ folder }) => folder.received.toString(), askStartMs),
    syncRelayLogs: () =>
      looking.statement(({ folder }) => void (folder.syncedRelayLog = folder.relayLog.length), syncMs),
  })
  const pulse = new SqlPulse({ ...world, askStart: () => sql.askStart() })
  await untilReached(() => pulse.begin(), { ...world, log: silentLog, refuse })
  const near = life.port<VolumePort>(simulatedVolume(machine, takes, written))
  return sqlSightOf(config, {
    ...{ clock: world.clock, serverUuid: far.serverUuid, pulse, ownStart, note: life.port(host.note('mysqld')) },
    server: life.port<ServerPort>(server),
    volume: createSqlOnlyVolume({ near, ...sql }),
  })
}

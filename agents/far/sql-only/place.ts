import { join } from 'node:path'
import { RegentError } from '#common/errors/errors.ts'
import { ownSession } from '#failover/settings/own-session.ts'
import type { AgentConfig, FarConfig } from '#agents/instance/config.ts'
import { farMedium } from '#agents/instance/medium.ts'
import { volumeLayout } from '#agents/instance/volume-layout.ts'
import type { ServerPort } from '#agents/ports/server.ts'
import { SqlPool } from '#agents/sql/connections/pool.ts'
import { gtidsOf, numberOf } from '#agents/sql/connections/statements.ts'
import type { FarGiven, FarPlace } from '#agents/far/far-place.ts'
import { untilReached } from '#agents/far/until-reached.ts'
import { makeMirrorFolder } from '#agents/far/volume.ts'
import { SqlOnlyProcess } from './process.ts'
import { SqlPulse } from './pulse.ts'
import { createSqlOnlyVolume } from './volume.ts'

/**
 * The same number for as long as one mysqld runs: both are of the moment in which the statement began, by the clock
 * that the start was noted by.
 */
const startStatement = `SELECT CAST(UNIX_TIMESTAMP() - VARIABLE_VALUE AS SIGNED) AS startedAt
  FROM performance_schema.global_status WHERE VARIABLE_NAME = 'Uptime'`

const syncMs = 10_000
const closeAtOnceMs = 500

/** A server that nothing but SQL reaches. Waits until it answers. */
export async function sqlOnlyPlace(
  config: AgentConfig,
  far: FarConfig,
  { world, log, server, near, login, refuse }: FarGiven,
): Promise<FarPlace> {
  const { dataDir, agentDir } = volumeLayout(config.volume)
  const target = { host: config.host, port: config.port, overTls: true, ...login }
  const pool = new SqlPool([target], `${ownSession}, sql_log_bin = 0`, world)
  const queryMs = 700
  const read = (statement: string) => pool.query(statement, { deadlineMs: queryMs, after: 'abandon' })
  const pulse = new SqlPulse({
    ...world,
    askStart: async () => numberOf((await read(startStatement))[0], 'startedAt'),
  })
  await untilReached(() => pulse.begin(), { ...world, log, refuse })
  await makeMirrorFolder(dataDir)
  const process = new SqlOnlyProcess({
    ...world,
    pulse,
    close: () => close(server),
    noteFile: join(agentDir, 'far-mysqld.json'),
  })
  const volume = createSqlOnlyVolume({
    near,
    readExecuted: async () => gtidsOf((await read('SELECT @@global.gtid_executed AS executed'))[0], 'executed'),
    // The server syncs a relay log that it closes.
    syncRelayLogs: async () =>
      void (await pool.query('FLUSH NO_WRITE_TO_BINLOG RELAY LOGS', { deadlineMs: syncMs, after: 'end' })),
  })
  return {
    ports: {
      machine: { bootId: () => Promise.resolve(`far ${far.serverUuid}`) },
      medium: { read: () => Promise.resolve(farMedium) },
      ...{ process, volume },
      // A server that refuses its agent cannot be started with other accounts.
      server: { ...server, whyRefused: () => Promise.resolve('') },
    },
    whyBlind: () => whyBlind(config, pulse.whyUnseen),
    close() {
      pulse.stop()
      pool.disconnect()
    },
  }
}

function whyBlind({ host, port }: AgentConfig, unseen: RegentError | null): RegentError | null {
  return unseen && new RegentError(unseen.code, `${host}:${port} does not answer by SQL: ${unseen.message}`)
}

/**
 * What a kill is elsewhere. Whoever holds a lock loses the session; commits that are under way are waited for, and
 * nobody writes anything after that.
 */
async function close(server: ServerPort): Promise<void> {
  await server.setReadOnly('closed', closeAtOnceMs).catch(() => undefined)
  await server.setOffline(true)
  await server.killForeignSessions()
  await server.setReadOnly('closed')
  await server.stopReceiver()
  await server.stopApplier()
}

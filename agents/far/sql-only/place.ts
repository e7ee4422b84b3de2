import { join } from 'node:path'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { ownSession } from '#failover/settings/own-session.ts'
import type { AgentConfig, FarConfig } from '#agents/instance/config.ts'
import { executedStatement, receivedStatement } from '#agents/sql/replication/owned-gtids.ts'
import { volumeLayout } from '#agents/instance/volume-layout.ts'
import { SqlPool } from '#agents/sql/connections/pool.ts'
import { startedAtIn, startStatement } from '#agents/sql/connections/started-at.ts'
import { gtidsOf } from '#agents/sql/connections/statements.ts'
import type { FarGiven } from '#agents/far/far-place.ts'
import type { FarPlace } from '#agents/far/place.ts'
import { noteInFile } from '#agents/far/note.ts'
import { untilReached } from '#agents/far/until-reached.ts'
import { makeMirrorFolder } from '#agents/far/volume.ts'
import { SqlPulse } from './pulse.ts'
import { sqlSightOf } from './sight.ts'
import { createSqlOnlyVolume } from './volume.ts'

const syncMs = 10_000

/** A server that nothing but SQL reaches. Waits until it answers. */
export async function sqlOnlyPlace(
  config: AgentConfig,
  far: FarConfig,
  { world, log, server, ownStart, near, login, refuse, life }: FarGiven,
): Promise<FarPlace> {
  const { dataDir, agentDir } = volumeLayout(config.volume)
  const target = { host: config.host, port: config.port, overTls: true, ...login }
  const pool = new SqlPool([target], `${ownSession}, sql_log_bin = 0`, world)
  const queryMs = 700
  let isClosed = false
  const read = async (statement: string) => {
    if (isClosed) throw new RegentError('REGENT_SERVER_DOWN', say`this agent has ended`)
    return pool.query(statement, { deadlineMs: queryMs, after: 'abandon' })
  }
  const pulse = new SqlPulse({
    ...world,
    askStart: async () => startedAtIn((await read(startStatement))[0]),
  })
  const close = (): void => {
    isClosed = true
    pulse.stop()
    pool.disconnect()
  }
  try {
    await untilReached(() => pulse.begin(), { ...world, log, refuse })
    await makeMirrorFolder(dataDir)
  } catch (error) {
    close()
    throw error
  }
  const volume = createSqlOnlyVolume({
    near,
    readExecuted: async () => gtidsOf((await read(executedStatement))[0], 'executed'),
    readReceived: async () => gtidsOf((await read(receivedStatement))[0], 'received'),
    // The server syncs a relay log that it closes.
    syncRelayLogs: async () =>
      void (await pool.query('FLUSH NO_WRITE_TO_BINLOG RELAY LOGS', { deadlineMs: syncMs, after: 'end' })),
  })
  const note = life.port(noteInFile(join(agentDir, 'far-mysqld.json'), ['startedAt', 'closings', 'over']))
  return {
    ...sqlSightOf(config, { clock: world.clock, serverUuid: far.serverUuid, pulse, server, ownStart, volume, note }),
    close,
  }
}

import { expect, it } from 'vitest'
import { looksOf } from '../watch/testing.ts'
import { readServer } from './read-server.ts'
import type { ServerSession } from './session.ts'

/** What is said of a server whose plugin is switched on, or not, and says that of itself. */
async function waits(semiSyncSource: boolean, status: string): Promise<boolean> {
  const [look] = looksOf({ looks: [{ server: { semiSyncSource } }] })
  if (look?.server == null) throw new Error('the scene has a server')
  const queryAll = async (statements: readonly string[]) =>
    statements.map((statement) => (statement.includes('Rpl_semi_sync') ? [{ Value: status }] : []))
  const seen = await readServer({ queryAll } as unknown as ServerSession, look.server, 1_000)
  return seen.semiSyncWaits
}

it('Writes of a server wait for replicas where semi-synchronous replication is switched on and was not given up', async () => {
  expect(await waits(true, 'ON')).toBe(true)
  expect(await waits(true, 'OFF')).toBe(false)
  expect(await waits(false, 'ON')).toBe(false)
})

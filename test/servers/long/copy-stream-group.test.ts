import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { volumeLayout } from '#agents/instance/volume-layout.ts'
import type { LoadedNote } from '#agents/lifecycle/worker/load-folder.ts'
import { parseGtidSet } from '#topology/gtid/gtid-set.ts'
import { expectBeginningOfHistory } from '#test/support/copied-history.ts'
import { reconfigureAgents, startWorker, streamingPort } from '#test/support/lifecycle-agents.ts'
import { LoneServer, value } from '#test/support/lone-server.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { Writer } from '#test/support/writer.ts'

const shop = withCluster({ spec: { mode: 'group' } })

it('A copy of a secondary of a group that is written to starts as a server with a beginning of the history, and the group goes on', async () => {
  const cluster = shop.current
  await cluster.whole()
  const folder = await mkdtemp(join(tmpdir(), 'regent-copies-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const [tokenFile, dataDir] = [join(folder, 'token'), join(folder, 'data')]
  await writeFile(tokenFile, 'token-of-the-copy-streams-of-this-test', { mode: 0o600 })
  const [name = ''] = await cluster.replicas()
  await reconfigureAgents(cluster, [name], { lifecycle: { tokenFile } })
  const writer = await Writer.start(cluster)
  const { host, volume } = await cluster.instance(name)
  const { code, output } = await startWorker({ host, port: streamingPort }, { dataDir, tokenFile }).end
  expect([code, output]).toEqual([0, expect.stringContaining('each checked against the source')])
  await writer.next()
  const server = await LoneServer.over(dataDir, await cluster.login('admin'))
  onTestFinished(() => server.remove())
  const session = await server.start('--skip-replica-start', '--super-read-only=ON')
  const note = JSON.parse(await readFile(join(dataDir, 'regent-loaded.json'), 'utf8')) as LoadedNote
  const executed = parseGtidSet(await value(session, 'select @@global.gtid_executed'))
  const primary = await cluster.primary()
  const now = parseGtidSet(await cluster.value(primary, 'select @@global.gtid_executed'))
  expectBeginningOfHistory(executed, note, now)
  const last = await value(session, 'select max(number) from app.writes')
  const rows = `select count(*), sum(id), sum(number) from app.writes where number <= ${last}`
  expect((await session.query(rows))[0]).toEqual(await cluster.sql(primary, rows))
  await cluster.until('nothing of the copy is left', async () => !existsSync(volumeLayout(volume).streamDir))
  await cluster.whole()
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
})

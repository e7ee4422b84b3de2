import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { byHand } from '#test/support/by-hand.ts'
import { withCluster } from '#test/support/with-cluster.ts'

const from = withCluster({ instances: 2 })
const to = withCluster({ name: 'copy', instances: 2 })

const checks = [
  'SELECT COUNT(*), SUM(CRC32(CONCAT(id, HEX(bytes), name, at))) FROM app.kept',
  'SELECT COUNT(*) FROM other.v',
  "SELECT GROUP_CONCAT(TRIGGER_NAME) FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = 'app'",
  "SELECT GROUP_CONCAT(ROUTINE_NAME) FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = 'app'",
  "SELECT GROUP_CONCAT(EVENT_NAME) FROM information_schema.EVENTS WHERE EVENT_SCHEMA = 'app'",
]

it('A dump of one cluster, read in at another, gives the same rows, views, triggers, routines and events there, under GTIDs of its own', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'regent-dump-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const file = join(folder, 'all.sql')
  const [source, target] = [from.current, to.current]
  await source.whole(2)
  await byHand(
    source,
    await source.primary(),
    'CREATE TABLE app.kept (id INT PRIMARY KEY AUTO_INCREMENT, bytes VARBINARY(300), name VARCHAR(100) CHARACTER SET utf8mb4, at TIMESTAMP(6) DEFAULT CURRENT_TIMESTAMP(6))',
    "INSERT INTO app.kept (bytes, name) VALUES (X'00FF0D0A1A5C27', 'Grüße; -- ''quoted''\\r\\n😀'), (REPEAT(CHAR(0), 300), '')",
    'CREATE TRIGGER app.marks BEFORE INSERT ON app.kept FOR EACH ROW SET NEW.name = UPPER(NEW.name)',
    'CREATE PROCEDURE app.does() SELECT 1',
    'CREATE EVENT app.ticks ON SCHEDULE EVERY 1 DAY DO DELETE FROM app.kept WHERE id < 0',
    'CREATE DATABASE other',
    'CREATE VIEW other.v AS SELECT id FROM app.kept',
  )
  expect(await source.regent('local', 'dump', source.name, '--file', file)).toMatchObject({ code: 0, stderr: '' })
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  expect(await readFile(file, 'utf8')).not.toMatch(/GTID_PURGED|SQL_LOG_BIN|regent\b.*marker/)
  await target.whole(2)
  const [uuid, before] = [
    await target.value(await target.primary(), 'SELECT @@server_uuid'),
    await target.value(await target.primary(), 'SELECT @@global.gtid_executed'),
  ]
  expect(await target.regent('local', 'sql', target.name, '--file', file)).toMatchObject({ code: 0, stderr: '' })
  for (const check of checks)
    expect([check, await target.sql(await target.primary(), check)]).toEqual([
      check,
      await source.sql(await source.primary(), check),
    ])
  const added = await target.value(
    await target.primary(),
    `SELECT GTID_SUBTRACT(@@global.gtid_executed, '${before.replaceAll('\n', '')}')`,
  )
  expect(added).toMatch(new RegExp(`^${uuid}:[\\d-]+$`))
  await target.whole(2)
})

it('A dump is taken of a replica too, and a file that cannot be written or read is refused with its name', async () => {
  const cluster = from.current
  const [replica = ''] = await cluster.replicas()
  const ran = await cluster.regent('local', 'dump', '--on', replica)
  expect(ran).toMatchObject({ code: 0, stdout: expect.stringContaining('CREATE DATABASE') as string })
  const file = join(cluster.layout.run, 'never', 'all.sql')
  expect(await cluster.regent('local', 'dump', cluster.name, '--file', file)).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/--file, .* cannot be written/) as string,
  })
  expect(await cluster.regent('local', 'sql', cluster.name, '--file', file)).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/--file, .* cannot be opened/) as string,
  })
})

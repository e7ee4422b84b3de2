import { randomBytes } from 'node:crypto'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runRegent, TestCluster } from '#test/support/cluster.ts'
import { freePort } from '#test/support/free-port.ts'
import { S3Server, usualLogin } from '#test/support/s3-server.ts'
import { findVersitygw } from '#test/support/versitygw.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { stopWriters, Writer } from '#test/support/writer.ts'

const deadlineMs = 600_000
const versitygw = await findVersitygw()
let stage: { readonly folder: string; readonly keyFile: string; readonly credentials: string; readonly s3?: S3Server }

beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'regent-backups-'))
  const [keyFile, credentials] = [join(folder, 'key'), folder]
  await writeFile(keyFile, randomBytes(32).toString('hex'))
  for (const name of ['accessKeyId', 'secretAccessKey'] as const)
    await writeFile(join(credentials, name), usualLogin[name])
  stage = { folder, keyFile, credentials, ...(versitygw === undefined ? {} : { s3: await S3Server.start(versitygw) }) }
  await stage.s3?.makeBucket('backups')
})

afterAll(async () => {
  await stage.s3?.end()
  await rm(stage.folder, { recursive: true, force: true })
})

/** Runs a command to its end, and gives what it prints. */
async function regent(home: string, ...words: readonly string[]): Promise<string> {
  const ran = await runRegent(home, words, { deadlineMs })
  if (ran.code !== 0) throw new Error(`regent ${words.join(' ')} ended with ${ran.code}:\n${ran.stderr}`)
  return ran.stdout
}

const kinds = [
  { kind: 'a folder', mode: 'semisync' as const },
  ...(versitygw === undefined ? [] : [{ kind: 'a bucket of S3', mode: 'group' as const }]),
]

describe.each(kinds)('A cluster of mode $mode whose backups lie in $kind', ({ kind, mode }) => {
  const inBucket = () => ({
    address: 's3://backups/prod',
    endpoint: stage.s3?.endpoint ?? '',
    pathStyle: true,
    credentialsFolder: stage.credentials,
  })
  const store = () => ({
    ...(kind === 'a folder' ? { address: stage.folder } : inBucket()),
    encryptionKeyFile: stage.keyFile,
  })
  const shop = withCluster(() => ({
    spec: { mode, backup: { store: store(), schedule: null, rehearsal: { schedule: null } } },
  }))
  const storeWords = () =>
    kind === 'a folder'
      ? ['--from', stage.folder, '--key-file', stage.keyFile]
      : [
          ...['--from', 's3://backups/prod', '--endpoint', stage.s3?.endpoint ?? '', '--path-style'],
          ...['--credentials', stage.credentials, '--key-file', stage.keyFile],
        ]

  it('is had back after everything of it is gone, with all that was acknowledged before the backup began', async () => {
    const cluster = shop.current
    await cluster.whole(3, deadlineMs)
    const primary = await cluster.primary()
    await cluster.sql(primary, "create user 'teller'@'%' identified by 'of the bank'")
    const writer = await Writer.start(cluster)
    await cluster.until('100 writes are acknowledged', async () => writer.report.acknowledged.length >= 100)
    const acknowledged = writer.report.acknowledged.length
    const made = await regent(cluster.home, 'backup', 'now', 'shop', '-o', 'json')
    await stopWriters()
    const { backup, instance } = JSON.parse(made) as { readonly backup: string; readonly instance: string }
    expect(instance).not.toBe(primary)
    const listed = JSON.parse(await regent(cluster.home, 'backup', 'list', 'shop', '-o', 'json')) as object
    expect(listed).toHaveProperty('backups', [expect.objectContaining({ name: backup, instance, cluster: 'shop' })])
    expect((await readdir(cluster.layout.instances)).length).toBe(3)
    await regent(cluster.home, 'local', 'down', 'shop')

    const home = await mkdtemp(join(tmpdir(), 'regent-'))
    const words = ['--cluster', 'shop', '--port', String(await freePort()), '--mode', mode, ...storeWords()]
    await regent(home, 'restore', 'again', ...words)
    const restored = await TestCluster.at(home, 'again')
    try {
      await restored.whole(3, deadlineMs)
      const leader = await restored.primary()
      const rows = Number(await restored.value(leader, 'select count(*) from app.writes'))
      expect(rows).toBeGreaterThanOrEqual(acknowledged)
      expect(await restored.value(leader, "select count(*) from mysql.user where user = 'teller'")).toBe('1')
      await restored.sql(leader, 'insert into app.writes (id) values (100000001)')
      for (const name of ['again-0', 'again-1', 'again-2'])
        await restored.until(`${name} has the new row`, async () =>
          Number(await restored.value(name, 'select count(*) from app.writes')) === rows + 1 ? true : undefined,
        )
      const second = await runRegent(home, ['restore', 'again', ...words], { deadlineMs })
      expect(second.stderr).toContain('nothing is restored over data')
    } finally {
      await restored.down()
    }
    await cluster.upAgain()
  }, 1_800_000)
})

import { randomBytes } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { volumeLayout } from '#agents/instance/volume-layout.ts'
import { runRegent, TestCluster } from '#test/support/cluster.ts'
import { FaultyS3, type SeenRequest } from '#test/support/faulty-s3.ts'
import { freePort } from '#test/support/free-port.ts'
import { S3Server, usualLogin } from '#test/support/s3-server.ts'
import { findVersitygw } from '#test/support/versitygw.ts'
import { withCluster } from '#test/support/with-cluster.ts'

const deadlineMs = 600_000
const program = await findVersitygw()
/** Doubled so often, rows of a kilobyte make some parts of 64 MiB. */
const doublings = 18
const sums = 'select concat(count(*), " ", sum(crc32(body))) from app.orders'

describe.skipIf(program === undefined)('A restore from a bucket that gives part by part', () => {
  let stage: { readonly folder: string; readonly s3: S3Server; readonly proxy: FaultyS3 }

  beforeAll(async () => {
    const folder = await mkdtemp(join(tmpdir(), 'regent-goes-on-'))
    await writeFile(join(folder, 'key'), randomBytes(32).toString('hex'))
    for (const name of ['accessKeyId', 'secretAccessKey'] as const)
      await writeFile(join(folder, name), usualLogin[name])
    const s3 = await S3Server.start(program ?? '')
    await s3.makeBucket('backups')
    stage = { folder, s3, proxy: await FaultyS3.start(s3.port) }
  })

  afterAll(async () => {
    await stage.proxy.end()
    await stage.s3.end()
    await rm(stage.folder, { recursive: true, force: true })
  })

  const shop = withCluster(() => ({
    spec: {
      backup: {
        store: {
          address: 's3://backups/prod',
          endpoint: stage.proxy.endpoint,
          pathStyle: true,
          credentialsFolder: stage.folder,
          encryptionKeyFile: join(stage.folder, 'key'),
        },
        schedule: null,
        rehearsal: { schedule: null },
      },
    },
  }))

  const partOf = ({ operation, path }: SeenRequest) =>
    operation === 'get' ? Number(/part-(\d+)$/.exec(path)?.[1] ?? 0) : 0

  /** The newest part that the agent of an instance has noted; 0 for none. */
  async function notedPart(cluster: TestCluster, instance: string): Promise<number> {
    const { seedJournal } = volumeLayout((await cluster.instance(instance)).volume)
    const journal = await readFile(seedJournal, 'utf8').catch(() => '')
    return Math.max(0, ...[...journal.matchAll(/"part":(\d+)/g)].map(([, part]) => Number(part)))
  }

  it('whose agent is killed goes on behind the last part that is on the disk, says so, and has all rows', async () => {
    const { proxy, folder } = stage
    const cluster = shop.current
    await cluster.whole(3, deadlineMs)
    const primary = await cluster.primary()
    await cluster.sql(primary, 'create table app.orders (id int primary key auto_increment, body varbinary(1000))')
    await cluster.sql(primary, 'insert into app.orders (body) values (random_bytes(1000))')
    for (let each = 0; each < doublings; each += 1)
      await cluster.sql(primary, 'insert into app.orders (body) select random_bytes(1000) from app.orders', {
        deadlineMs,
      })
    const made = await runRegent(cluster.home, ['backup', 'now', 'shop'], { deadlineMs })
    expect(made.code, made.stderr).toBe(0)
    const wanted = await cluster.value(primary, sums)
    await runRegent(cluster.home, ['local', 'down', 'shop'], { deadlineMs })

    // The fourth part does not come, and neither does the fifth, before they may.
    const gates = new Map([4, 5].map((part) => [part, Promise.withResolvers<undefined>()]))
    proxy.misfortune = (request) => gates.get(partOf(request))?.promise
    const home = await mkdtemp(join(tmpdir(), 'regent-'))
    const store = ['--from', 's3://backups/prod', '--endpoint', proxy.endpoint, '--path-style']
    const secrets = ['--credentials', folder, '--key-file', join(folder, 'key')]
    const words = ['restore', 'again', '--cluster', 'shop', '--port', String(await freePort()), ...store, ...secrets]
    const restoring = runRegent(home, words, { deadlineMs })
    const restored = await foundAt(home, restoring)
    try {
      await restored.until('two parts are noted', async () => (await notedPart(restored, 'again-0')) >= 2, deadlineMs)
      const { agentPid } = await restored.instance('again-0')
      process.kill(agentPid ?? 0, 'SIGKILL')
      const noted = await notedPart(restored, 'again-0')
      const before = proxy.seen.length
      gates.get(4)?.resolve(undefined)
      await restored.until(
        'it is said where the restore goes on',
        async () => JSON.stringify(await restored.topology()).includes(`goes on after part ${noted} of `),
        deadlineMs,
      )
      gates.get(5)?.resolve(undefined)
      const { code, stderr } = await restoring
      expect(code, stderr).toBe(0)
      const asked = proxy.seen.slice(before).map(partOf)
      expect(asked.filter((part) => part > 0 && part <= noted)).toEqual([])
      expect(asked).toContain(noted + 1)
      await restored.whole(3, deadlineMs)
      expect(await restored.value(await restored.primary(), sums)).toBe(wanted)
    } finally {
      for (const gate of gates.values()) gate.resolve(undefined)
      await restoring
      await restored.down()
    }
    await cluster.upAgain()
  }, 1_800_000)
})

/** A cluster that a command is about to make. */
async function foundAt(home: string, making: Promise<{ readonly code: number | null; readonly stderr: string }>) {
  const ended = making.then(({ code, stderr }) => {
    throw new Error(`the restore ended with ${code}: ${stderr}`)
  })
  ended.catch(() => undefined)
  for (;;) {
    const found = await Promise.race([ended, TestCluster.at(home, 'again').catch(() => undefined)])
    if (found !== undefined) return found
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
}

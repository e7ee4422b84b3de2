import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { keyOf } from '#backup/objects/object-key.ts'
import { openBackupStore } from '#backup/transfer/open-backup-store.ts'
import { textOf } from '#backup/transfer/text-of.ts'
import { readManifest } from '#backup/transfer/stored-manifests.ts'
import { parseVerification } from '#backup/objects/verification.ts'
import { runRegent } from '#test/support/cluster.ts'
import { withCluster } from '#test/support/with-cluster.ts'

const deadlineMs = 180_000
let folder = ''

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'regent-rehearsal-'))
  await mkdir(join(folder, 'store'))
  await writeFile(join(folder, 'key'), randomBytes(32))
})

afterAll(() => rm(folder, { recursive: true, force: true }))

const shop = withCluster(() => ({
  instances: 2,
  spec: {
    backup: {
      store: { address: join(folder, 'store'), encryptionKeyFile: join(folder, 'key') },
      schedule: null,
      archive: { everySeconds: 1 },
      rehearsal: { schedule: null },
    },
  },
}))

it('A backup is verified by a restore beside a replica, of which nothing is left; a spoilt one is named', async () => {
  const cluster = shop.current
  await cluster.whole(2, deadlineMs)
  const primary = await cluster.primary()
  await cluster.sql(primary, 'create table app.orders (id int primary key)')
  await cluster.sql(primary, 'insert into app.orders values (1), (2), (3)')
  const made = await runRegent(cluster.home, ['backup', 'now', 'shop', '-o', 'json'], { deadlineMs })
  expect(made.code, made.stderr).toBe(0)
  const { backup } = JSON.parse(made.stdout) as { readonly backup: string }

  const ran = await runRegent(cluster.home, ['backup', 'rehearse', 'shop', '-o', 'json'], { deadlineMs })
  expect(ran.code, ran.stderr).toBe(0)
  const { instance, sentence } = JSON.parse(ran.stdout) as { readonly instance: string; readonly sentence: string }
  expect(instance).not.toBe(primary)
  expect(sentence).toMatch(
    new RegExp(
      `^backup ${backup} is verified: restored in .*, \\d+ tables? with \\d+ rows? are whole, \\d+ tables? as replica ${instance} has them$`,
    ),
  )
  const store = await openBackupStore({ address: join(folder, 'store') })
  const verified = keyOf({ kind: 'verified', cluster: 'shop', name: backup })
  const place = { ...(await readManifest(store, 'shop', backup)), key: null }
  const { rows, tables, restoreMs, compared, replica } = parseVerification(await textOf(store, verified), place)
  expect([rows >= 3, tables >= 1, restoreMs > 0, compared, replica]).toEqual([true, true, true, tables, instance])
  const volume = join(cluster.layout.instances, instance)
  const left = await readdir(volume, { recursive: true })
  expect(left.filter((name) => /rehearsal|spare/.test(name))).toEqual([])
  await cluster.whole(2, deadlineMs)

  await rm(join(folder, 'store', 'shop', 'base', backup, 'part-000001'))
  const spoilt = await runRegent(cluster.home, ['backup', 'rehearse', 'shop'], { deadlineMs })
  expect(spoilt.code).not.toBe(0)
  expect(spoilt.stderr).toMatch(
    /rehearsal \d{8}T\d{6}Z of shop failed: part 1 of backup \S+ is not in the store any more/,
  )
  const view = await runRegent(cluster.home, ['topology', 'shop'], { deadlineMs })
  expect(view.stdout).toMatch(/rehearsal \d{8}T\d{6}Z failed/)
}, 1_800_000)

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { runsIn } from '#backup/objects/runs.ts'
import { prefixOf } from '#backup/objects/object-key.ts'
import { openBackupStore } from '#backup/transfer/open-backup-store.ts'
import { withCluster } from '#test/support/with-cluster.ts'

const deadlineMs = 300_000
let folder = ''

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'regent-scheduled-'))
})

afterAll(() => rm(folder, { recursive: true, force: true }))

const shop = withCluster(() => ({ instances: 2, spec: { backup: { store: { address: folder } } } }))

async function runs() {
  const store = await openBackupStore({ address: folder })
  const objects = []
  for await (const object of store.list(prefixOf.backups('shop'))) objects.push(object)
  return runsIn(objects)
}

it('A cluster that names a store has a backup soon, and the proof that this one can be restored', async () => {
  const cluster = shop.current
  await cluster.whole(2, deadlineMs)
  await cluster.until(
    'the first backup is whole and verified',
    async () => ((await runs()).some(({ isWhole, isVerified }) => isWhole && isVerified) ? true : undefined),
    deadlineMs,
  )
  expect(await runs()).toHaveLength(1)
  await cluster.whole(2, deadlineMs)
}, 1_200_000)

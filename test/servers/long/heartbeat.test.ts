import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openBackupStore } from '#backup/transfer/open-backup-store.ts'
import { readArchive } from '#backup/transfer/stored-archive.ts'
import { windowOf } from '#backup/restore/window.ts'
import { runRegent, type TestCluster } from '#test/support/cluster.ts'
import { withCluster } from '#test/support/with-cluster.ts'

const deadlineMs = 600_000
let folder = ''

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'regent-heartbeat-'))
  for (const mode of ['semisync', 'group']) await mkdir(join(folder, mode))
})

afterAll(() => rm(folder, { recursive: true, force: true }))

/** The last second that can be restored; 0 for none. */
async function reachedMs(address: string): Promise<number> {
  const store = await openBackupStore({ address })
  try {
    return windowOf(await readArchive(store, 'shop')).spans.at(-1)?.toMs ?? 0
  } finally {
    store.close()
  }
}

const beatAt = (cluster: TestCluster, instance: string): Promise<string> =>
  cluster.value(instance, 'select at from regent.heartbeat where id = 1')

/** A heartbeat that was written after this call has arrived everywhere, and no replica is shown to lag. */
async function beatsEverywhere(cluster: TestCluster): Promise<void> {
  const before = await beatAt(cluster, await cluster.primary())
  await cluster.until(
    'a new heartbeat is at every instance',
    async () => {
      const all = await Promise.all(['shop-0', 'shop-1', 'shop-2'].map((instance) => beatAt(cluster, instance)))
      return all.every((at) => at > before) ? true : undefined
    },
    deadlineMs,
  )
  await cluster.until(
    'every replica shows a lag, which is none',
    async () => {
      const { instances } = await cluster.whole(3, deadlineMs)
      const lags = instances.filter(({ role }) => role === 'replica').map(({ lagSeconds }) => lagSeconds)
      return lags.length === 2 && lags.every((lag) => lag === 0) ? true : undefined
    },
    deadlineMs,
  )
}

describe.each(['semisync', 'group'] as const)('An idle cluster of mode %s with a heartbeat', (mode) => {
  const address = () => join(folder, mode)
  const shop = withCluster(() => ({
    spec: {
      mode,
      backup: {
        store: { address: address() },
        schedule: null,
        rehearsal: { schedule: null },
        archive: { everySeconds: 1 },
      },
    },
  }))

  it('has a window that goes on, a lag of its replicas, and no errant transaction, whoever leads', async () => {
    const cluster = shop.current
    await cluster.whole(3, deadlineMs)
    const made = await runRegent(cluster.home, ['backup', 'now', 'shop'], { deadlineMs })
    expect(made.code, made.stderr).toBe(0)
    const idleSinceMs = Date.now()
    await cluster.until(
      'a moment in which nobody wrote can be restored',
      async () => ((await reachedMs(address())) > idleSinceMs + 2_000 ? true : undefined),
      deadlineMs,
    )
    await beatsEverywhere(cluster)

    const first = await cluster.primary()
    const moved = await cluster.regent('switchover', 'shop')
    expect(moved.code, moved.stderr).toBe(0)
    expect(await cluster.primary()).not.toBe(first)
    await beatsEverywhere(cluster)
    const repairs = await Promise.all(['shop-0', 'shop-1', 'shop-2'].map((instance) => cluster.repairs(instance)))
    expect(JSON.stringify(repairs.flat())).not.toContain('errant')

    const second = await cluster.primary()
    await cluster.fault(second, 'kill-mysqld')
    await cluster.until('another instance leads', async () => ((await cluster.primary()) !== second ? true : undefined))
    await cluster.whole(3, deadlineMs)
    await beatsEverywhere(cluster)
  }, 1_800_000)
})

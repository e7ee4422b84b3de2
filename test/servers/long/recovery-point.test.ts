import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runRegent, TestCluster } from '#test/support/cluster.ts'
import { freePort } from '#test/support/free-port.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { stopWriters, Writer } from '#test/support/writer.ts'

const deadlineMs = 600_000
let folder = ''

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'regent-recovery-point-'))
  await writeFile(join(folder, 'key'), randomBytes(32))
  for (const mode of ['semisync', 'group']) await mkdir(join(folder, mode))
})

afterAll(() => rm(folder, { recursive: true, force: true }))

describe.each(['semisync', 'group'] as const)('When all of a cluster of mode %s is gone at once', (mode) => {
  const store = () => ({ address: join(folder, mode), encryptionKeyFile: join(folder, 'key') })
  const shop = withCluster(() => ({
    spec: { mode, backup: { store: store(), schedule: null, rehearsal: { schedule: null } } },
  }))

  it('what was acknowledged is had back, but for the last seconds', async () => {
    const cluster = shop.current
    await cluster.whole(3, deadlineMs)
    const writer = await Writer.start(cluster, { everyMs: 10 })
    expect((await runRegent(cluster.home, ['backup', 'now', 'shop'], { deadlineMs })).code).toBe(0)
    await sleep(15_000)
    await Promise.all(['shop-0', 'shop-1', 'shop-2'].map((name) => cluster.fault(name, 'kill')))
    const { acknowledged } = writer.report
    await stopWriters()
    const lastMs = acknowledged.at(-1)?.ackedMs ?? 0

    const home = await mkdtemp(join(tmpdir(), 'regent-'))
    const words = ['--cluster', 'shop', '--from', join(folder, mode), '--key-file', join(folder, 'key')]
    const more = ['--instances', '1', '--port', String(await freePort()), ...words]
    const ran = await runRegent(home, ['restore', 'again', ...more], { deadlineMs })
    expect(ran.code, ran.stderr).toBe(0)
    const restored = await TestCluster.at(home, 'again')
    try {
      const rows = await restored.sql(await restored.primary(), 'select id from app.writes')
      const there = new Set(rows.map(({ id }) => Number(id)))
      const lost = acknowledged.filter(({ id }) => !there.has(id))
      const lostMs = lastMs - (lost[0]?.ackedMs ?? lastMs)
      const told = `the last ${lost.length} (${Math.round(lostMs)} ms) are lost`
      console.log(`${mode}: ${acknowledged.length} acknowledged, ${told}`)
      // What is lost is the end: nothing behind the first lost write is there.
      expect(acknowledged.findLastIndex(({ id }) => there.has(id))).toBe(acknowledged.length - lost.length - 1)
      expect(lostMs).toBeLessThan(30_000)
    } finally {
      await restored.down()
    }
  }, 1_800_000)
})

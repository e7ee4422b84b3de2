import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { processesOf } from '#local/processes/cluster-processes.ts'
import { runRegent, startCluster, type TestCluster } from '#test/support/cluster.ts'

const deadlineMs = 180_000
let folder = ''

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'regent-leftover-'))
  await mkdir(join(folder, 'store'))
})

afterAll(() => rm(folder, { recursive: true, force: true }))

it('Of a rehearsal whose agent was killed nothing is left once the cluster is purged', async () => {
  const store = { address: join(folder, 'store') }
  const spec = { backup: { store, schedule: null, rehearsal: { schedule: null } } }
  const cluster = await startCluster({ instances: 2, spec })
  try {
    await killedWithin(cluster)
  } finally {
    // Throws where a process or a file of the cluster is left.
    await cluster.down()
  }
}, 900_000)

/** Kills the agents in the middle of a rehearsal, and nobody is there to start them again. */
async function killedWithin(cluster: TestCluster): Promise<void> {
  await cluster.whole(2, deadlineMs)
  const { dir } = cluster.layout
  const ofKind = async (kind: string) => (await processesOf(dir)).filter((one) => one.kind === kind)
  const own = new Set((await ofKind('mysqld')).map(({ identity }) => identity.pid))
  expect((await runRegent(cluster.home, ['backup', 'now', 'shop'], { deadlineMs })).code).toBe(0)
  const rehearsal = runRegent(cluster.home, ['backup', 'rehearse', 'shop'], { deadlineMs })
  const { identity: spare } = await cluster.until(
    'a throw-away server runs',
    async () => (await ofKind('mysqld')).find(({ identity }) => !own.has(identity.pid)),
    deadlineMs,
  )
  // A server that is held ends by no order.
  process.kill(spare.pid, 'SIGSTOP')
  for (const kind of ['supervisor', 'agent'])
    for (const { identity } of await ofKind(kind)) process.kill(identity.pid, 'SIGKILL')
  await cluster.until('the agents are gone', async () => ((await ofKind('agent')).length === 0 ? true : undefined))
  expect((await ofKind('mysqld')).map(({ identity }) => identity.pid)).toContain(spare.pid)
  await rehearsal
}

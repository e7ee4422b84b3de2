import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runRegent, TestCluster } from '../../support/cluster.ts'
import { freePort } from '../../support/free-port.ts'
import { kinds, ticksSeen } from './kinds.ts'
import type { Moment, Seen } from './diary.ts'
import { restoredName, type Stage } from './stage.ts'

const deadlineMs = 600_000

export interface Look {
  readonly seen: Seen
  /** What the server itself wrote, in order. */
  readonly ticks: readonly string[]
}

/** Restores into a cluster of one, and looks at what is there. Rejects with what the command said. */
export async function restoredAt(stage: Stage, cluster: string, { words }: Moment): Promise<Look> {
  const home = await mkdtemp(join(tmpdir(), 'regent-'))
  const more = ['--cluster', cluster, '--instances', '1', '--port', String(await freePort()), ...stage.words, ...words]
  stage.restores.add(home)
  try {
    const ran = await runRegent(home, ['restore', restoredName, ...more], { deadlineMs })
    if (ran.code !== 0) throw new Error(ran.stderr.trim())
    const restored = await TestCluster.at(home, restoredName)
    return await lookAt(restored).finally(() => restored.views.end())
  } finally {
    await stage.dropRestore(home)
  }
}

export async function lookAt(cluster: TestCluster): Promise<Look> {
  const primary = await cluster.primary()
  const session = await cluster.session(primary, 'client', 10_000)
  try {
    await session.query('use app')
    const seen = new Map<string, ReadonlyMap<number, string>>()
    for (const { name, seen: query } of kinds) seen.set(name, new Map(await rowsOf(query)))
    return { seen, ticks: (await rowsOf(ticksSeen)).map(([id, found]) => `${id} ${found}`) }
  } finally {
    session.destroy()
  }

  async function rowsOf(query: string): Promise<readonly (readonly [number, string])[]> {
    const [rows] = await session.query({ sql: query, rowsAsArray: true, dateStrings: true })
    return (rows as (readonly [number, unknown])[]).map(([id, found]) => [Number(id), String(found)])
  }
}

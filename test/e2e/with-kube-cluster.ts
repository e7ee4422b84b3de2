import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import type { ModeName } from '#failover/protocol/mode-name.ts'
import { patienceMs } from '../support/patience.ts'
import { stopWriters, type Writer } from '../support/writer.ts'
import { KubeCluster } from './kube-cluster.ts'

export interface KubeClusterOptions {
  readonly namespace?: string
  readonly name?: string
  readonly instances?: number
  readonly spec?: object
}

/** For tests that hold in every mode: the cluster that all files share, and one of mode `group`. */
export const clusterOfEachMode: readonly (readonly [ModeName, KubeClusterOptions])[] = [
  ['semisync', {}],
  ['group', { name: 'agreed', spec: { mode: 'group' } }],
]

/**
 * A cluster for the tests of a file, whole before the first of them: `demo` in namespace `demo`, which all files share,
 * unless it has another name. That one is removed with its namespace after the last. After a failed test the cluster is
 * described.
 */
export function withKubeCluster({
  name = 'demo',
  namespace = name,
  instances = 3,
  spec = {},
}: KubeClusterOptions = {}): { readonly current: KubeCluster } {
  let cluster: KubeCluster | undefined
  beforeAll(async () => {
    cluster = await KubeCluster.at(namespace, name)
    await cluster.ensure({ ...spec, instances })
    await cluster.whole(instances)
  })
  afterEach(async ({ task }) => {
    await stopWriters()
    if (cluster !== undefined && task.result?.state === 'fail')
      console.error([`── ${task.name}`, ...(await describe(cluster))].join('\n'))
  })
  afterAll(async () => {
    if (name !== 'demo')
      await cluster?.kubectl('delete', 'namespace', namespace, '--ignore-not-found', '--timeout', '100s')
  })
  return {
    get current() {
      if (cluster === undefined) throw new Error('the cluster is not up')
      return cluster
    },
  }
}

/** Everything a person would ask first. */
async function describe(cluster: KubeCluster): Promise<readonly string[]> {
  const questions = [
    ['get', 'nodes'],
    ['get', 'mysql,pods,endpointslices', '-o', 'wide', '-L', 'regent.dev/role'],
    ['get', 'mysql', cluster.name, '-o', 'jsonpath={.status}'],
    ['get', 'events', '--sort-by=.lastTimestamp'],
    ['-n', 'regent', 'get', 'pods', '-o', 'wide'],
    ['-n', 'regent', 'logs', '-l', 'app.kubernetes.io/name=regent', '--prefix', '--tail=40'],
  ]
  const answers: string[] = []
  for (const words of questions)
    answers.push(`$ kubectl ${words.join(' ')}`, await cluster.kubectl(...words).catch(String))
  return answers
}

/** Stops the writer, reads everything back on every instance, and expects nothing lost, doubled or different. */
export async function expectNothingLost(writer: Writer, instances = 3): Promise<void> {
  const acknowledged = writer.count
  const check = await writer.check()
  expect(check).toMatchObject({ lost: [], duplicated: [], differing: [], instances })
  expect(acknowledged).toBeGreaterThan(0)
}

/**
 * Waits until writes flow, and says what the client saw since this time: the longest time between two acknowledged
 * writes.
 */
export async function outageSince(
  writer: Writer,
  what: string,
  sinceMs: number,
  deadlineMs = patienceMs,
): Promise<number> {
  await writer.next(undefined, { deadlineMs })
  const { pauseMs } = writer.longestPause(sinceMs)
  process.stderr.write(`    ${what}: writes paused for ${Math.round(pauseMs)} ms\n`)
  return pauseMs
}

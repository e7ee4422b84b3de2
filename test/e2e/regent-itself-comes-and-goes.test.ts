import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { manager } from '#kube/names/manager-names.ts'
import { mysqlClusters } from '#kube/spec/mysql-cluster.ts'
import { agentContainer } from '#kube/pods/pod-template.ts'
import { statefulSets, volumeClaims } from '#kube/pods/stateful-set.ts'
import { expectBelow } from '../support/expect-below.ts'
import { monotonicMs } from '../support/monotonic.ts'
import { Writer } from '../support/writer.ts'
import type { KubeCluster } from './kube-cluster.ts'
import { isOwnCluster, nameImageAnew, run } from './own-cluster.ts'
import { expectNothingLost, outageSince, withKubeCluster } from './with-kube-cluster.ts'

const demo = withKubeCluster()
const chart = join(import.meta.dirname, '..', '..', 'charts', 'regent')

const helm = (...words: readonly string[]): Promise<string> =>
  run('helm', ['--namespace', manager.namespace, ...words], { deadlineMs: 180_000 })

async function managersAreReady(cluster: KubeCluster): Promise<void> {
  await cluster.kubectl('--namespace', manager.namespace, 'rollout', 'status', 'deployment/regent', '--timeout', '150s')
}

/** When each mysqld of these was started, in seconds. */
async function starts(cluster: KubeCluster, instances: readonly string[]): Promise<readonly number[]> {
  return Promise.all(
    instances.map(async (name) =>
      Number(
        await cluster.value(
          name,
          "select round(unix_timestamp(now(6)) - variable_value) from performance_schema.global_status where variable_name = 'Uptime'",
        ),
      ),
    ),
  )
}

/** The clock of seconds may be off by one at either end. */
async function expectNoRestart(
  cluster: KubeCluster,
  instances: readonly string[],
  before: readonly number[],
): Promise<void> {
  for (const [index, start] of (await starts(cluster, instances)).entries())
    expect(Math.abs(start - (before[index] ?? 0))).toBeLessThanOrEqual(2)
}

async function agentImageOf(cluster: KubeCluster, instance: string): Promise<string> {
  const { initContainers = [] } = (await cluster.pod(instance)).spec ?? {}
  return initContainers.find(({ name }) => name === agentContainer)?.image ?? ''
}

it('helm test passes', async () => {
  expect(await helm('test', 'regent', '--timeout', '120s')).toContain('Succeeded')
})

it.skipIf(!isOwnCluster)(
  'an upgrade of Regent and its agents’ image restarts no mysqld; an instance has the new agent with the next restart of its pod; and it can be rolled back',
  async () => {
    const cluster = demo.current
    await cluster.whole()
    const writer = await Writer.start(cluster)
    const [replica = '', ...others] = await cluster.replicas()
    const instances = [await cluster.primary(), replica, ...others]
    const before = await starts(cluster, instances)
    const image = await agentImageOf(cluster, replica)
    await nameImageAnew(image, `${image}-next`)
    const atMs = monotonicMs()
    await helm(
      'upgrade',
      'regent',
      chart,
      '--reset-then-reuse-values',
      '--set-string',
      `image.tag=${image.split(':')[1]}-next`,
    )
    await managersAreReady(cluster)
    const templateImage = async () =>
      (
        await cluster.client.get(statefulSets, { namespace: cluster.namespace, name: cluster.name })
      )?.spec.template.spec?.initContainers?.find(({ name }) => name === agentContainer)?.image
    await cluster.until(
      () => 'the new image in the StatefulSet',
      async () => (await templateImage()) === `${image}-next`,
      120_000,
    )
    await cluster.whole()
    await expectNoRestart(cluster, instances, before)
    expect(await agentImageOf(cluster, replica)).toBe(image)
    expectBelow(5_000, await outageSince(writer, 'Regent upgraded', atMs))
    await cluster.kubectl('delete', 'pod', replica)
    await cluster.until(
      () => `the new agent in ${replica}`,
      async () => (await agentImageOf(cluster, replica)) === `${image}-next`,
      120_000,
    )
    await cluster.whole(3, 180_000)
    await helm('rollback', 'regent', '--wait', '--timeout', '150s')
    await cluster.until(
      () => 'the old image in the StatefulSet',
      async () => (await templateImage()) === image,
      120_000,
    )
    await cluster.whole()
    await expectNothingLost(writer)
  },
)

it('after an uninstall the cluster takes writes, and its resource, volumes and passwords are there; installed again Regent replaces a dead primary', async () => {
  const cluster = demo.current
  await cluster.whole()
  const values = await helm('get', 'values', 'regent', '--output', 'json')
  const writer = await Writer.start(cluster)
  const login = await cluster.login('client')
  const atMs = monotonicMs()
  await helm('uninstall', 'regent', '--wait', '--timeout', '150s')
  // Longer than any lease.
  await sleep(15_000)
  await writer.next()
  expect(await cluster.client.get(mysqlClusters, { namespace: cluster.namespace, name: cluster.name })).toMatchObject({
    spec: { instances: 3 },
  })
  expect(
    (await cluster.client.list(volumeClaims, { namespace: cluster.namespace })).items.length,
  ).toBeGreaterThanOrEqual(3)
  await run('helm', ['--namespace', manager.namespace, 'install', 'regent', chart, '--values', '-'], {
    input: values,
    deadlineMs: 180_000,
  })
  await managersAreReady(cluster)
  await cluster.whole(3, 180_000)
  expect(await cluster.login('client')).toEqual(login)
  expectBelow(5_000, await outageSince(writer, 'Regent uninstalled and installed again', atMs))
  const primary = await cluster.primary()
  await cluster.killMysqld(primary)
  await cluster.otherPrimary(primary)
  await cluster.whole()
  await expectNothingLost(writer)
})

it('a spec that the webhook would have refused is not followed while the webhook is gone, which is said, and a dead primary is replaced', async () => {
  const cluster = demo.current
  await cluster.whole()
  const writer = await Writer.start(cluster)
  const replicas = await cluster.replicas()
  const before = await starts(cluster, replicas)
  await cluster.kubectl('--namespace', manager.namespace, 'delete', 'service', 'regent-webhook')
  try {
    await cluster.change({ settings: { gtid_mode: 'OFF' } })
    const degraded = async () => (await cluster.resource()).status?.conditions?.find(({ type }) => type === 'Degraded')
    await cluster.until(
      () => 'the condition Degraded',
      async () => (await degraded())?.reason === 'SpecNotFollowed',
    )
    expect((await degraded())?.message).toContain('gtid_mode')
    const primary = await cluster.primary()
    await cluster.killMysqld(primary)
    await cluster.otherPrimary(primary)
    await cluster.whole()
    await expectNoRestart(cluster, replicas, before)
  } finally {
    // What other tests have set stays: another setting would be rolled out.
    await cluster.change({ settings: { gtid_mode: null } })
    await helm('upgrade', 'regent', chart, '--reuse-values')
  }
  await cluster.until(
    () => 'a spec that is followed',
    async () =>
      (await cluster.resource()).status?.conditions?.find(({ type }) => type === 'Degraded')?.reason !==
      'SpecNotFollowed',
  )
  await expectNothingLost(writer)
  expect(await cluster.kubectl('--namespace', manager.namespace, 'get', 'service', 'regent-webhook')).toContain(
    'regent-webhook',
  )
})

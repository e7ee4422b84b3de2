import { beforeAll, expect, it } from 'vitest'
import { labels, namesOf } from '#kube/names/names.ts'
import { agentContainer } from '#kube/pods/pod-template.ts'
import { pods } from '#kube/pods/stateful-set.ts'
import { expectBelow } from '../support/expect-below.ts'
import { monotonicMs } from '../support/monotonic.ts'
import { Writer } from '../support/writer.ts'
import type { KubeCluster } from './kube-cluster.ts'
import { expectAccount, expectActions, expectReports, lifecycle, prepareLifecycle } from './lifecycle-calls.ts'
import { isOwnCluster, kube } from './own-cluster.ts'
import { expectNothingLost, outageSince, withKubeCluster } from './with-kube-cluster.ts'

beforeAll(() => prepareLifecycle('gathered'))
const gathered = withKubeCluster({ name: 'gathered', spec: { mode: 'group', cloneAboveTransactions: 0, lifecycle } })

/** Who is ONLINE as one member sees the group, and who is primary there: `gathered-0 PRIMARY`, in order. */
async function seenBy(cluster: KubeCluster, instance: string): Promise<readonly string[]> {
  const { instances } = await cluster.view()
  const rows = await cluster.sql(
    instance,
    `select member_host as host, member_role as role from performance_schema.replication_group_members where member_state = 'ONLINE'`,
  )
  return rows
    .map(({ host, role }) => `${instances.find((one) => one.host === host)?.name ?? String(host)} ${String(role)}`)
    .toSorted()
}

/** Role labels of all pods: `gathered-0 primary`, in order. */
async function labelled({ client, namespace, name }: KubeCluster): Promise<readonly string[]> {
  const { items } = await client.list(pods, { namespace, labelSelector: `${labels.cluster}=${name}` })
  return items.map(({ metadata }) => `${metadata.name} ${metadata.labels?.[labels.role] ?? 'none'}`).toSorted()
}

/** All members agree on who leads, and the labels and the Service of the primary say the same. */
async function expectAgreement(cluster: KubeCluster, instances = 3): Promise<void> {
  const primary = await cluster.primary()
  const names = Array.from({ length: instances }, (_, ordinal) => `${cluster.name}-${ordinal}`)
  for (const name of names)
    expect(await seenBy(cluster, name)).toEqual(
      names.map((one) => `${one} ${one === primary ? 'PRIMARY' : 'SECONDARY'}`),
    )
  const wanted = names.map((one) => `${one} ${one === primary ? 'primary' : 'replica'}`)
  await cluster.until(
    () => `labels ${wanted.join(', ')}`,
    async () => (await labelled(cluster)).join() === wanted.join(),
  )
}

/** Does something to the primary under a writer’s load, and waits until another one leads and the group is whole. */
async function gone(
  what: string,
  { most, kind }: { readonly most: number; readonly kind?: 'failover' | 'switchover' },
  act: (cluster: KubeCluster, primary: string) => Promise<unknown>,
): Promise<void> {
  const cluster = gathered.current
  await cluster.whole()
  const writer = await Writer.start(cluster)
  const before = await cluster.primary()
  const [atMs, wallMs] = [monotonicMs(), Date.now()]
  await act(cluster, before)
  await cluster.otherPrimary(before)
  expectBelow(most, await outageSince(writer, `group: ${what}`, atMs))
  expect(await cluster.recoverySince(wallMs)).toMatchObject({ outcome: 'succeeded', ...(kind && { kind }) })
  await cluster.whole(3, 180_000)
  await expectAgreement(cluster)
  await expectNothingLost(writer)
}

it('three instances are one group, and kubectl get mysql shows its view', async () => {
  const cluster = gathered.current
  await expectAgreement(cluster)
  await cluster.until(
    () => 'the view in the status',
    async () => (await cluster.resource()).status?.group?.condition === 'online',
  )
  const [head = '', row = ''] = (await cluster.kubectl('get', 'mysql')).split('\n')
  expect(head).toMatch(/ GROUP /)
  expect(row).toMatch(/^gathered +True +gathered-\d .*3 of 3 ONLINE, 1 may be lost .*is primary of the group, 3 of 3/)
  const { status } = await cluster.resource()
  expect(status?.instances?.map(({ member }) => member)).toEqual(['ONLINE', 'ONLINE', 'ONLINE'])
})

it('agents of a group serve lifecycle actions, and report their roles', async () => {
  const cluster = gathered.current
  await expectActions(cluster)
  await expectAccount(cluster)
  await expectReports(cluster)
  await cluster.whole()
})

it.each<readonly [string, object, RegExp]>([
  ['more members than a group takes', { instances: 10 }, /10 instances in mode group; allowed is 1 to 9/],
  ['another mode', { mode: 'semisync' }, /mode cannot change/],
  ['a consistency that there is not', { group: { consistency: 'LATER' } }, /consistency/],
  ['a setting of the group', { settings: { group_replication_bootstrap_group: 'ON' } }, /group_replication_bootstrap/],
])('%s is refused with a sentence', async (_what, spec, sentence) => {
  const { name } = gathered.current
  const patch = ['patch', 'mysql', name, '--type', 'merge', '--patch', JSON.stringify({ spec })]
  await expect(gathered.current.kubectl(...patch)).rejects.toThrow(sentence)
})

it('mysqld of the primary is killed: the group elects, and the Service follows', () =>
  gone('mysqld killed', { most: 10_000, kind: 'failover' }, (cluster, primary) => cluster.killMysqld(primary)))

it('kubectl regent switchover has the group elect another primary, there and back', async () => {
  const cluster = gathered.current
  await cluster.whole()
  const writer = await Writer.start(cluster)
  const before = await cluster.primary()
  const [other = ''] = await cluster.replicas()
  for (const to of [other, before]) {
    await cluster.whole()
    const atMs = monotonicMs()
    await cluster.regent('switchover', cluster.name, '--to', to)
    expect(await cluster.primary()).toBe(to)
    expectBelow(5_000, await outageSince(writer, 'group: switchover', atMs))
  }
  await expectAgreement(cluster)
  await expectNothingLost(writer)
})

it('the primary’s pod is deleted: it hands over first, and leaves the group before its server goes', () =>
  gone('pod deleted', { most: 5_000, kind: 'switchover' }, (cluster, primary) =>
    cluster.kubectl('delete', 'pod', primary),
  ))

// The kubelet lets it begin to hand over, and does not wait.
it('the primary’s pod is deleted with no time to end: the group elects once it gives the silent member up', () =>
  gone('pod deleted with grace 0', { most: 30_000 }, (cluster, primary) =>
    cluster.kubectl('delete', 'pod', primary, '--grace-period', '0', '--force'),
  ))

it('kubectl drain of the primary’s node is a switchover for clients', async () => {
  const node = await gathered.current.nodeOf(await gathered.current.primary())
  const drain = ['drain', node, '--ignore-daemonsets', '--delete-emptydir-data', '--timeout', '150s']
  await gone('drain', { most: 5_000, kind: 'switchover' }, async (cluster) => {
    await cluster.kubectl(...drain).finally(() => cluster.kubectl('uncordon', node))
  })
})

it.skipIf(!isOwnCluster)(
  'the primary’s node loses its power, agent and all: the group elects once it gives the silent member up, which joins again with its node',
  async () => {
    const node = await gathered.current.nodeOf(await gathered.current.primary())
    await gone('power cut', { most: 30_000 }, async (cluster, primary) => {
      await kube('node-kill', node)
      await cluster.otherPrimary(primary).finally(() => kube('node-start', node))
    })
  },
)

it('kubectl scale goes from 3 to 5, by copies, and back to 3, with the primary among those that leave', async () => {
  const cluster = gathered.current
  await cluster.whole()
  const writer = await Writer.start(cluster)
  await cluster.kubectl('scale', 'mysql', cluster.name, '--replicas', '5')
  await cluster.whole(5, 240_000)
  for (const added of [3, 4])
    expect(await cluster.kubectl('logs', `${cluster.name}-${added}`, '--container', agentContainer)).toContain(
      `seeded from ${cluster.name}-`,
    )
  await cluster.handOver(`${cluster.name}-4`)
  await cluster.whole(5)
  await expectAgreement(cluster, 5)
  const [atMs, wallMs] = [monotonicMs(), Date.now()]
  await cluster.kubectl('scale', 'mysql', cluster.name, '--replicas', '3')
  await cluster.otherPrimary(`${cluster.name}-4`)
  expectBelow(5_000, await outageSince(writer, 'group: primary scaled away', atMs))
  await cluster.whole(3, 180_000)
  await cluster.until(
    () => 'three pods',
    async () => (await labelled(cluster)).length === 3,
  )
  const kinds = (await cluster.recoveries()).filter(({ startedWallMs }) => startedWallMs >= wallMs)
  expect(kinds.map(({ kind, outcome }) => [kind, outcome])).toEqual([['switchover', 'succeeded']])
  await expectAgreement(cluster)
  await expectNothingLost(writer)
})

it('a changed setting reaches every instance, one after the other, with one switchover', async () => {
  const cluster = gathered.current
  await cluster.whole()
  const writer = await Writer.start(cluster)
  const names = [...(await cluster.replicas()), await cluster.primary()]
  const wanted = (await cluster.value(names[0] ?? '', 'select @@max_connections')) === '200' ? '210' : '200'
  const [atMs, wallMs] = [monotonicMs(), Date.now()]
  await cluster.change({ settings: { max_connections: wanted } })
  for (const name of names)
    await cluster.until(
      () => `max_connections ${wanted} at ${name}`,
      async () => (await cluster.value(name, 'select @@max_connections')) === wanted,
      300_000,
    )
  await cluster.whole(3, 180_000)
  const recoveries = (await cluster.recoveries()).filter(({ startedWallMs }) => startedWallMs >= wallMs)
  expect(recoveries.map(({ kind, outcome }) => [kind, outcome])).toEqual([['switchover', 'succeeded']])
  expectBelow(15_000, await outageSince(writer, 'group: rolling update', atMs))
  await expectNothingLost(writer)
})

it('an instance that is given up comes back with an empty volume, as another member, and is ONLINE', async () => {
  const cluster = gathered.current
  await cluster.whole()
  const writer = await Writer.start(cluster)
  const [replica = ''] = await cluster.replicas()
  const uuid = await cluster.value(replica, 'select @@server_uuid')
  await cluster.regent('replace', replica)
  await cluster.until(
    () => `another server of ${replica}`,
    async () => (await cluster.value(replica, 'select @@server_uuid')) !== uuid,
    180_000,
  )
  await cluster.whole(3, 180_000)
  await expectAgreement(cluster)
  await expectNothingLost(writer)
})

it('every mysqld is killed and every pod deleted at once: the group is formed anew, and holds everything', async () => {
  const cluster = gathered.current
  await cluster.whole()
  const writer = await Writer.start(cluster)
  /** The part of the name of a view that is the same as long as the group lives. */
  const life = async (): Promise<string | undefined> => (await cluster.view()).group?.viewId?.split(':')[0]
  const [before, { epoch }] = [await life(), await cluster.view()]
  const names = [await cluster.primary(), ...(await cluster.replicas())]
  const atMs = monotonicMs()
  await Promise.all(names.map((name) => cluster.killMysqld(name)))
  await cluster.kubectl('delete', 'pod', ...names, '--grace-period', '0', '--force')
  await cluster.until(
    () => `another life of the group than ${before}`,
    async () => ![undefined, before].includes(await life()),
    180_000,
  )
  expectBelow(120_000, await outageSince(writer, 'group: everybody killed', atMs, 120_000))
  expect((await cluster.view()).epoch).toBeGreaterThan(epoch)
  await cluster.whole(3, 180_000)
  await expectAgreement(cluster)
  await expectNothingLost(writer)
})

it('a record that somebody deletes is made again from the group, and clients write meanwhile', async () => {
  const cluster = gathered.current
  await cluster.whole()
  const [{ epoch }, primary] = [await cluster.view(), await cluster.primary()]
  const writer = await Writer.start(cluster)
  const atMs = monotonicMs()
  await cluster.kubectl('delete', 'configmap', namesOf(cluster.name).record)
  await cluster.until(
    () => 'a record of a newer epoch',
    async () => (await cluster.view()).epoch > epoch,
  )
  await cluster.whole()
  expect(await cluster.primary()).toBe(primary)
  expectBelow(5_000, await outageSince(writer, 'group: its record is deleted', atMs))
  await expectNothingLost(writer)
})

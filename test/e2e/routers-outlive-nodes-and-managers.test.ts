import { setTimeout as sleep } from 'node:timers/promises'
import { beforeEach, expect, it } from 'vitest'
import { isReady } from '#controller-runtime/objects/conditions.ts'
import { manager } from '#kube/names/manager-names.ts'
import { services } from '#kube/objects/services.ts'
import type { Pod } from '#kube/pods/stateful-set.ts'
import { expectBelow } from '../support/expect-below.ts'
import { monotonicMs } from '../support/monotonic.ts'
import { Writer } from '../support/writer.ts'
import { found, type KubeCluster } from './kube-cluster.ts'
import { inNetworkOf, isMysqld, isOwnCluster, isRouter, kube, processOf, run } from './own-cluster.ts'
import { routerPods, routersReady, throughRouter, withoutManagers } from './through-router.ts'
import { expectNothingLost, outageSince, withKubeCluster } from './with-kube-cluster.ts'

const outlasting = withKubeCluster({ name: 'outlasting', spec: { router: { drainMs: 1_000 } } })

beforeEach(async () => {
  await routersReady(outlasting.current)
  await outlasting.current.whole(3, 180_000)
}, 400_000)

/** A router, on whose node the primary is from then on. */
async function routerBesidePrimary(cluster: KubeCluster): Promise<Pod> {
  const routers = await routerPods(cluster)
  for (const instance of [await cluster.primary(), ...(await cluster.replicas())]) {
    const node = await cluster.nodeOf(instance)
    const router = routers.find(({ spec }) => spec?.nodeName === node)
    if (router === undefined) continue
    if (instance !== (await cluster.primary())) await cluster.handOver(instance)
    await cluster.whole()
    return router
  }
  throw new Error('no router has an instance beside it')
}

/** What a router says of itself, asked on its node. */
async function readyOf({ spec, status }: Pod): Promise<boolean> {
  const ask = ['curl', '--silent', '--max-time', '3', '--output', '/dev/null', '--write-out', '%{http_code}']
  const [command = '', ...words] = [...inNetworkOf(spec?.nodeName ?? ''), ...ask, `http://${status?.podIP}:9402/ready`]
  return (await run(command, words)) === '200'
}

async function isReadyByKubernetes(cluster: KubeCluster, { metadata }: Pod): Promise<boolean> {
  return isReady(await cluster.pod(metadata.name))
}

/** The two, by what Kubernetes says of each: the App hears of that a moment later. */
async function allReady(cluster: KubeCluster): Promise<void> {
  await cluster.until(
    () => 'two routers that are ready',
    async () => {
      const ready = await Promise.all((await routerPods(cluster)).map((pod) => isReadyByKubernetes(cluster, pod)))
      return ready.length === 2 && ready.every(Boolean)
    },
    180_000,
  )
}

it.skipIf(!isOwnCluster)(
  'mysqld of the primary freezes: the client of the router writes elsewhere, and the old primary comes back as a replica',
  async () => {
    const cluster = outlasting.current
    const writer = await Writer.start(throughRouter(cluster))
    const before = await cluster.primary()
    const pid = await processOf(before, isMysqld)
    const atMs = monotonicMs()
    process.kill(pid, 'SIGSTOP')
    try {
      await cluster.otherPrimary(before)
      expectBelow(10_000, await outageSince(writer, 'mysqld frozen, through the router', atMs))
    } finally {
      // Its agent may have ended that server by now.
      if ((await processOf(before, isMysqld).catch(() => undefined)) === pid) process.kill(pid, 'SIGCONT')
    }
    await cluster.whole(3, 180_000)
    await expectNothingLost(writer)
  },
)

it.skipIf(!isOwnCluster)(
  'the node of the primary and of a router is cut off: nobody acknowledges writes there, also through that router, which hears one agent',
  async () => {
    const cluster = outlasting.current
    const router = await routerBesidePrimary(cluster)
    const before = await cluster.primary()
    const node = await cluster.nodeOf(before)
    const outside = await Writer.start(throughRouter(cluster))
    const inside = await Writer.start(throughRouter(cluster, found(router.status?.podIP, 'an address of a router')), {
      table: 'inside',
      wrapper: inNetworkOf(node),
    })
    const atMs = monotonicMs()
    await kube('cut', node)
    let mendedMs: number
    try {
      await cluster.otherPrimary(before)
      expectBelow(15_000, await outageSince(outside, 'network cut, through the routers', atMs))
      const first = await outside.next(outside.longestPause(atMs).sinceMs)
      await sleep(15_000)
      // One voice is enough to be ready, and not enough to lead anybody.
      expect(await readyOf(router)).toBe(true)
      mendedMs = monotonicMs()
      const meanwhile = inside.since(first.beganMs).filter(({ ackedMs }) => ackedMs < mendedMs)
      expect(meanwhile, 'acknowledged through the router that is cut off').toEqual([])
    } finally {
      await kube('mend', node)
    }
    await inside.next(undefined, { deadlineMs: 120_000 })
    process.stderr.write(`    mended: written there again after ${Math.round(monotonicMs() - mendedMs)} ms\n`)
    await cluster.whole(3, 180_000)
    await expectNothingLost(inside)
    await expectNothingLost(outside)
  },
)

it.skipIf(!isOwnCluster)(
  'a router that hears nobody for 6 s is not ready, and clients come by the other; once it hears somebody it is ready',
  async () => {
    const cluster = outlasting.current
    const writer = await Writer.start(throughRouter(cluster))
    const [router = expect.fail('no router')] = await routerPods(cluster)
    const managers = await cluster.client.get(services, { namespace: manager.namespace, name: manager.service })
    const instances = [await cluster.primary(), ...(await cluster.replicas())]
    const addresses = await Promise.all(instances.map(async (name) => (await cluster.pod(name)).status?.podIP))
    const pid = await processOf(router.metadata.name, isRouter)
    const route = (verb: string, address: string) =>
      run('nsenter', ['--net', '--target', String(pid), 'ip', 'route', verb, 'blackhole', address])
    const unheard = [...addresses, managers?.spec.clusterIP].map((one) => found(one, 'an address'))
    const atMs = monotonicMs()
    for (const address of unheard) await route('add', address)
    try {
      await cluster.until(
        () => 'the router is not ready',
        async () => !(await isReadyByKubernetes(cluster, router)),
        60_000,
      )
      const afterMs = monotonicMs() - atMs
      process.stderr.write(`    cut off alone: not ready after ${Math.round(afterMs)} ms\n`)
      expectBelow(30_000, afterMs)
      expectBelow(15_000, await outageSince(writer, 'a router that hears nobody', atMs))
      // Every new session comes by the other router.
      const fresh = await Writer.start(throughRouter(cluster), { table: 'fresh' })
      await expectNothingLost(fresh)
    } finally {
      for (const address of unheard) await route('del', address)
    }
    await cluster.until(
      () => 'the router is ready again',
      () => isReadyByKubernetes(cluster, router),
      60_000,
    )
    await expectNothingLost(writer)
  },
)

it.skipIf(!isOwnCluster)(
  'the node of the primary and of a router loses its power: clients write through the other router',
  async () => {
    const cluster = outlasting.current
    const router = await routerBesidePrimary(cluster)
    const before = await cluster.primary()
    const writers = await Promise.all(
      ['first', 'second', 'third', 'fourth'].map((table) => Writer.start(throughRouter(cluster), { table })),
    )
    const node = found(router.spec?.nodeName, 'a node')
    const atMs = monotonicMs()
    await kube('node-kill', node)
    try {
      await cluster.otherPrimary(before)
      for (const [at, writer] of writers.entries())
        expectBelow(15_000, await outageSince(writer, `power cut, client ${at + 1} through the routers`, atMs))
    } finally {
      await kube('node-start', node)
    }
    await cluster.whole(3, 180_000)
    for (const writer of writers) await expectNothingLost(writer)
  },
)

it('A router’s pod is deleted by force, and HAProxy and `regent router` of the next are killed: others serve, and all come back', async () => {
  const cluster = outlasting.current
  const writers = await Promise.all(
    ['one', 'two', 'three'].map((table) => Writer.start(throughRouter(cluster), { table })),
  )
  const [victim] = await routerPods(cluster)
  const atMs = monotonicMs()
  await cluster.kubectl('delete', 'pod', victim?.metadata.name ?? '', '--force', '--grace-period', '0')
  for (const writer of writers) expectBelow(5_000, await outageSince(writer, 'a router deleted by force', atMs))
  await cluster.until(
    () => 'another router in its place',
    async () => (await routerPods(cluster)).every(({ metadata }) => metadata.name !== victim?.metadata.name),
    120_000,
  )
  await allReady(cluster)
  const [next] = await routerPods(cluster)
  if (isOwnCluster) {
    const kill = async (what: string, isIt: (commandLine: string) => boolean): Promise<void> => {
      const killedMs = monotonicMs()
      process.kill(await processOf(next?.metadata.name ?? '', isIt), 'SIGKILL')
      for (const writer of writers)
        expectBelow(5_000, await outageSince(writer, `${what} of a router killed`, killedMs))
    }
    await kill('HAProxy', (commandLine) => commandLine.includes('haproxy'))
    // Its container ends with it, and begins anew.
    await kill('`regent router`', isRouter)
    await cluster.until(
      () => 'that router began anew',
      () => processOf(next?.metadata.name ?? '', isRouter),
      120_000,
    )
    await allReady(cluster)
  }
  for (const writer of writers) await expectNothingLost(writer)
}, 600_000)

it('Without any manager the primary’s mysqld dies and comes back, and with managers again another takes over: one address all the time', async () => {
  const cluster = outlasting.current
  const writer = await Writer.start(throughRouter(cluster))
  const before = await cluster.primary()
  await withoutManagers(cluster, async () => {
    const killedMs = monotonicMs()
    await cluster.killMysqld(before)
    const pauseMs = await outageSince(writer, 'mysqld killed, no manager, through the routers', killedMs, 180_000)
    expectBelow(120_000, pauseMs)
    expect(await cluster.primary()).toBe(before)
    await routersReady(cluster)
  })
  const killedMs = monotonicMs()
  await cluster.killMysqld(before)
  await cluster.otherPrimary(before)
  expectBelow(5_000, await outageSince(writer, 'mysqld killed, managers back, through the routers', killedMs))
  await cluster.whole(3, 180_000)
  await expectNothingLost(writer)
}, 900_000)

import { isIPv6 } from 'node:net'
import { beforeAll, describe, expect, it } from 'vitest'
import type { ModeName } from '#failover/protocol/mode-name.ts'
import { namesOf } from '#kube/names/names.ts'
import { services } from '#kube/objects/services.ts'
import { expectBelow } from '../support/expect-below.ts'
import { monotonicMs } from '../support/monotonic.ts'
import { patienceMs } from '../support/patience.ts'
import { openSession, queryWithin } from '../support/sql-session.ts'
import { Writer } from '../support/writer.ts'
import { found, type KubeCluster } from './kube-cluster.ts'
import { hasFamily } from './own-address.ts'
import { isOwnCluster } from './own-cluster.ts'
import { routersReady, throughRouter } from './through-router.ts'
import { expectNothingLost, outageSince, withKubeCluster } from './with-kube-cluster.ts'

const modes: readonly ModeName[] = ['semisync', 'group']
/** Of a cluster of this machine, as `REGENT_KUBE_FAMILIES` made it. */
const families = (['IPv4', 'IPv6'] as const).filter((family) => hasFamily(family))
const hasIPv6 = isOwnCluster && families.includes('IPv6')

describe.skipIf(!hasIPv6).each(modes)('On a cluster with IPv6, in mode %s', (mode) => {
  const name = `six-${mode}`
  const six = withKubeCluster({
    name,
    spec: {
      mode,
      router: { drainMs: 5_000 },
      services: { replicas: { ipFamilyPolicy: 'PreferDualStack' } },
    },
  })
  beforeAll(async () => routersReady(six.current), 200_000)

  it('a Service that asks for both families leads to the same servers by each: the router’s to the primary, that of the replicas to a replica', async () => {
    const cluster = six.current
    const names = namesOf(name)
    const primary = await hostOf(cluster, await cluster.primary())
    const replicas = await Promise.all((await cluster.replicas()).map((one) => hostOf(cluster, one)))
    const router = await addressesOf(cluster, names.routerService)
    const readers = await addressesOf(cluster, names.replicas)
    for (const of of [router, readers]) expect(of.map(familyOf).toSorted()).toEqual(families)
    for (const host of router) {
      expect(await serverBehind(cluster, host, 3306)).toBe(primary)
      expect(replicas).toContain(await serverBehind(cluster, host, 3307))
    }
    for (const host of readers)
      await cluster.until(
        () => `a replica behind ${host}`,
        async () => replicas.includes(await serverBehind(cluster, host, 3306)),
      )
  })

  it('a failover and a switchover happen, and writes of a client that comes by IPv6 go on', async () => {
    const cluster = six.current
    const host = found((await addressesOf(cluster, namesOf(name).routerService)).find(isIPv6), 'an address of IPv6')
    const writer = await Writer.start(throughRouter(cluster, host))
    const before = await cluster.primary()
    const killedMs = monotonicMs()
    await cluster.killMysqld(before)
    await cluster.otherPrimary(before)
    expectBelow(5_000, await outageSince(writer, `${mode}: mysqld killed, by IPv6 through the router`, killedMs))
    await cluster.whole()
    const switchedMs = monotonicMs()
    await cluster.handOver(before)
    expectBelow(5_000, await outageSince(writer, `${mode}: switchover, by IPv6 through the router`, switchedMs))
    await cluster.whole()
    await expectNothingLost(writer)
  })

  it('instances and agents know each other by the first address of their pods, also one that is made as a copy', async () => {
    const cluster = six.current
    await cluster.kubectl('scale', 'mysql', name, '--replicas', '4')
    await cluster.whole(4, 240_000)
    const view = await cluster.view()
    const hosts = new Map(view.instances.map((row) => [row.name, row.host]))
    for (const [instance, host] of hosts) expect(host).toBe(await hostOf(cluster, instance))
    if (mode === 'semisync')
      for (const replica of await cluster.replicas()) {
        const [row] = await cluster.sql(replica, 'show replica status')
        expect(row?.['Source_Host']).toBe(hosts.get(await cluster.primary()))
      }
    expect(await cluster.regent('topology', name)).toContain(`${name}-3`)
    await cluster.kubectl('scale', 'mysql', name, '--replicas', '3')
    await cluster.whole(3, 240_000)
  })
})

function familyOf(host: string): 'IPv4' | 'IPv6' {
  return isIPv6(host) ? 'IPv6' : 'IPv4'
}

async function hostOf(cluster: KubeCluster, instance: string): Promise<string> {
  return found((await cluster.pod(instance)).status?.podIP, `an address of ${instance}`)
}

async function addressesOf(cluster: KubeCluster, name: string): Promise<readonly string[]> {
  const service = await cluster.client.get(services, { namespace: cluster.namespace, name })
  return found(service?.spec.clusterIPs, `addresses of Service ${name}`)
}

/** Who answers there: the address under which that server is known. */
async function serverBehind(cluster: KubeCluster, host: string, port: number): Promise<string> {
  const session = await openSession({ host, port, ...(await cluster.login('client')) }, patienceMs)
  const [row] = await queryWithin(session, 'select @@report_host as host', patienceMs)
  session.destroy()
  return String(row?.['host'])
}

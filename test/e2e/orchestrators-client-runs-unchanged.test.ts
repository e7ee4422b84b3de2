import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { isIPv6 } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { manager } from '#kube/names/manager-names.ts'
import { endpointSlices } from '#kube/primary/primary-endpoints.ts'
import { pods } from '#kube/pods/stateful-set.ts'
import { clientAt, clients, matches, mostUsed, onCluster, unmodified } from '../support/orchestrator-commands.ts'
import { found } from './kube-cluster.ts'
import { run } from './own-cluster.ts'
import { clusterOfEachMode, withKubeCluster } from './with-kube-cluster.ts'

const demo = withKubeCluster()
const chart = join(import.meta.dirname, '..', '..', 'charts', 'regent')
const service = 'regent-orchestrator'
const login = 'ann:the-login-of-ann'
let folder = ''

if (unmodified === undefined)
  console.warn('REGENT_ORCHESTRATOR_CLIENT names no client of orchestrator: only the stand-in of this project asks')

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'regent-orchestrator-'))
})
afterAll(async () => {
  await serve({ enabled: false, hosts: 'address', loginSecret: '' })
  await rm(folder, { recursive: true, force: true })
}, 200_000)

/**
 * The chart with these values below `orchestrator`, and both of its managers ready. They watch the namespaces that are
 * given, or all.
 */
async function serve(
  values: Readonly<Record<string, string | boolean>>,
  namespaces: readonly string[] = [],
): Promise<void> {
  const set = Object.entries(values).flatMap(([name, value]) => ['--set', `orchestrator.${name}=${value}`])
  const watch = ['--set-json', `watchNamespaces=${JSON.stringify(namespaces)}`]
  const words = ['upgrade', manager.service, chart, '--namespace', manager.namespace, '--reset-then-reuse-values']
  await run('helm', [...words, ...set, ...watch], { deadlineMs: 180_000 })
  await managersAreReady()
}

/** Those of before are gone, too. */
async function managersAreReady(): Promise<void> {
  const cluster = demo.current
  await cluster.kubectl('-n', manager.namespace, 'rollout', 'status', 'deployment/regent', '--timeout', '180s')
  const labelSelector = manager.podSelector
  await cluster.until(
    () => 'two managers, one of which leads',
    async () => {
      const { items } = await cluster.client.list(pods, { namespace: manager.namespace, labelSelector })
      const leader = await cluster.leader()
      return items.length === 2 && items.some(({ metadata }) => metadata.name === leader)
    },
    120_000,
  )
}

const inUrl = (address: string) => (isIPv6(address) ? `[${address}]` : address)

/** What the Service’s name leads to: the managers, the one that leads last, as clients reach them. */
async function managers(): Promise<readonly { readonly name: string; readonly host: string; readonly url: string }[]> {
  const cluster = demo.current
  const wanted = { namespace: manager.namespace, labelSelector: `kubernetes.io/service-name=${service}` }
  return cluster.until(
    () => `two managers behind Service ${service}`,
    async () => {
      const slices = (await cluster.client.list(endpointSlices, wanted)).items
      const ready = slices.flatMap(({ endpoints }) => endpoints ?? []).filter(({ conditions }) => conditions.ready)
      const leader = await cluster.leader()
      const all = ready.map(({ addresses, targetRef }) => {
        const host = inUrl(addresses[0] ?? '')
        return { name: targetRef?.name ?? '', host, url: `http://${host}:3000/api` }
      })
      return (
        all.length === 2 && all.toSorted((one, other) => Number(one.name === leader) - Number(other.name === leader))
      )
    },
  )
}

/** A client that knows the Service’s name alone, by which it comes to the manager that does not lead. */
async function byService(program: string) {
  const hosts = (await managers()).map(({ host }) => host)
  const name = `${service}.${manager.namespace}.svc`
  await writeFile(join(folder, '.curlrc'), `resolve = "${name}:3000:${hosts.join(',')}"\n`)
  return clientAt(program, { ORCHESTRATOR_API: `http://${name}:3000`, CURL_HOME: folder })
}

describe.each(clusterOfEachMode)('In mode %s, where the managers watch one namespace', (mode, options) => {
  const { name = 'demo', namespace = name } = options
  beforeAll(async () => {
    // Its Role is made by the chart; a namespace that is there already is none the worse.
    await demo.current.kubectl('create', 'namespace', namespace).catch(() => undefined)
    await serve({ enabled: true, hosts: 'name', loginSecret: '' }, [namespace])
  }, 200_000)
  const asked = withKubeCluster(options)

  it.each(clients)(
    'the commands that scripts use most, by the name of the Service, asked by %s',
    async (_, program) => {
      const cluster = asked.current
      if ((await cluster.primary()) !== `${name}-0`) await cluster.handOver(`${name}-0`)
      await cluster.whole()
      const client = await byService(program)
      const alias = `set-cluster-alias/${namespace}.${name}?alias=${name}`
      expect(await client('-c', 'api', '-P', alias)).toMatchObject({ code: 0 })
      const wrong: unknown[] = []
      for (const [words, prints] of mostUsed(mode === 'semisync').map((row) => onCluster(name, row))) {
        const got = await client(...words.split(' '))
        if (!matches(got, prints)) wrong.push({ words, prints, got })
        if (!/takeover|force-/.test(words) || got.code !== 0) continue
        // Where writers are led, and who takes writes there.
        expect(`${(await cluster.published()).instance}:3306`).toBe(got.stdout)
        expect(await cluster.value(await cluster.primary(), 'select @@super_read_only')).toBe('0')
        await cluster.whole()
      }
      expect(wrong).toEqual([])
    },
  )
})

describe('Two managers, and servers called by the names of their pods', () => {
  beforeAll(async () => serve({ enabled: true, hosts: 'name', loginSecret: '' }), 200_000)

  it.each(clients)(
    'the manager that leads is found among both, also after it was killed, by %s',
    async (_, program) => {
      const cluster = demo.current
      const [standby, leader] = await managers()
      const ask = async (path: string) =>
        Promise.all([standby, leader].map(async (one) => (await fetch(`${one?.url}/${path}`)).status))
      expect(await ask('leader-check')).toEqual([404, 200])
      expect(await ask('leader-check/503')).toEqual([503, 200])
      expect(await ask('routed-leader-check')).toEqual([200, 200])
      expect(await ask('raft-state')).toEqual([500, 500])
      const client = clientAt(program, { ORCHESTRATOR_API: `${leader?.url} ${standby?.url}` })
      expect(await client('-c', 'which-api')).toMatchObject({ code: 0, stdout: leader?.url })
      const kill = ['delete', 'pod', found(leader, 'a leader').name, '--force', '--grace-period', '0']
      await cluster.kubectl('-n', manager.namespace, ...kill)
      await cluster.until(
        () => 'the other manager leads',
        async () => (await client('-c', 'which-api')).stdout === standby?.url,
      )
      await cluster.until(
        () => 'the other manager knows the primary',
        async () => (await client('-c', 'which-cluster-master', '-i', 'demo')).stdout.startsWith('demo-'),
      )
      const [replica = ''] = await cluster.replicas()
      const down = ['-i', replica, '-o', 'ann', '-r', 'disk', '-u', '10m']
      expect(await client('-c', 'begin-downtime', ...down)).toMatchObject({ stdout: `${replica}:3306` })
      await managersAreReady()
      // The one that came instead answers for the one that leads.
      const another = await byService(program)
      expect((await another('-c', 'downtimed')).stdout).toBe(`${replica}:3306`)
      expect(await another('-c', 'end-downtime', '-i', replica)).toMatchObject({ stdout: `${replica}:3306` })
      await cluster.whole()
    },
  )
})

describe('Servers called by their addresses, for those with a login', () => {
  beforeAll(async () => {
    const secret = ['create', 'secret', 'generic', 'of-ann', `--from-literal=login=${login}`]
    await demo.current.kubectl('-n', manager.namespace, ...secret)
    await serve({ enabled: true, hosts: 'address', loginSecret: 'of-ann' })
  }, 200_000)
  afterAll(async () => demo.current.kubectl('-n', manager.namespace, 'delete', 'secret', 'of-ann'))

  it.each(clients)('names of pods and Services are understood, asked by %s', async (_, program) => {
    const cluster = demo.current
    const stranger = await byService(program)
    expect((await stranger('-c', 'clusters')).code).not.toBe(0)
    const ask = async (...words: readonly string[]) => (await stranger('-b', login, ...words)).stdout
    const keyOf = async (pod: string) => `${(await cluster.pod(pod)).status?.podIP}:3306`
    const primary = await cluster.primary()
    const [replica = ''] = await cluster.replicas()
    const [leads, follows] = [await keyOf(primary), await keyOf(replica)]
    const said = async (command: string, hints: readonly string[]) =>
      Promise.all(hints.map(async (hint) => `${hint}: ${await ask('-c', command, '-i', hint)}`))
    const all = (hints: readonly string[], key: string) => hints.map((hint) => `${hint}: ${key}`)
    const ofPod = [replica, follows, `${replica}.demo-instances`, `${replica}.demo-instances.demo.svc.cluster.local`]
    const ofPrimary = [primary, leads, 'demo-primary', 'demo-primary.demo.svc', 'demo-primary.demo.svc.cluster.local']
    expect(await said('instance', ofPod)).toEqual(all(ofPod, follows))
    expect(await said('instance', ofPrimary)).toEqual(all(ofPrimary, leads))
    const ofCluster = ['demo', 'demo.demo', ...ofPod, ...ofPrimary]
    expect(await said('which-cluster-master', ofCluster)).toEqual(all(ofCluster, leads))
    const designated = `${replica}.demo-instances.demo.svc.cluster.local`
    expect(await ask('-c', 'graceful-master-takeover-auto', '-i', 'demo-primary.demo.svc', '-d', designated)).toBe(
      follows,
    )
    expect(await cluster.published()).toMatchObject({ instance: replica, host: follows.replace(/:3306$/, '') })
    await cluster.whole()
    expect(await ask('-c', 'which-replicas', '-i', 'demo-primary')).toContain(leads)
    const discovered = await fetch(`${(await managers())[0]?.url}/discover/${primary}.demo-instances.demo.svc/3306`, {
      headers: { authorization: `Basic ${Buffer.from(login).toString('base64')}` },
    })
    expect([discovered.status, await discovered.json()]).toMatchObject([200, { Code: 'OK' }])
  })
})

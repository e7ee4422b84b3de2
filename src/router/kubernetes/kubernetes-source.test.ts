import { createServer, type Server, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import type { PlatformInstance } from '#common/ports/platform.ts'
import { ApiClient } from '#cli/connection/api-client.ts'
import { followKubernetes, type KubernetesSourceParts } from './kubernetes-source.ts'

/** A manager whose stream of events a test writes. */
async function aManager() {
  const streams: ServerResponse[] = []
  const server: Server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(': connected\n\n')
    streams.push(response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => server.closeAllConnections())
  onTestFinished(() => void server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    client: () => new ApiClient({ url, token: 't', fetch: (at, init) => fetch(at, init) }),
    streams,
    says: (primary: string | null, hosts: readonly string[]) => {
      const instances = hosts.map((host, at) => ({ name: `shop-${at}`, host }))
      const event = JSON.stringify({ name: 'shops.shop', epoch: 3, primary, instances })
      for (const stream of streams) stream.write(`event: state\ndata: ${event}\n\n`)
    },
  }
}

/** A router that remembers what it is told; agents are heard where the test says so. */
function aRouter(hears: (instance: PlatformInstance) => boolean) {
  const told = { instances: [] as readonly PlatformInstance[], record: undefined as unknown }
  return {
    told,
    hosts: () => told.instances.map(({ host }) => host).join(),
    router: {
      setInstances: (instances: readonly PlatformInstance[]) => void (told.instances = instances),
      setRecord: (view: unknown) => void (told.record = view),
      unheard: () => told.instances.filter((one) => !hears(one)).map(({ name }) => name),
    },
  }
}

const file = { version: 1, cluster: 'shop', namespace: 'shops', instances: 2, manager: '', settings: {} } as const

function follow(
  router: ReturnType<typeof aRouter>['router'],
  parts: Pick<KubernetesSourceParts, 'openManager' | 'resolve' | 'resolveMs'>,
) {
  const stop = new AbortController()
  const over = followKubernetes(router, { ...parts, file: async () => file, warn: () => undefined }, stop.signal)
  const end = (): Promise<void> => (stop.abort(), over)
  onTestFinished(end)
  return end
}

const noManager = () => Promise.reject(new Error('no manager'))

it('A manager tells instances and record, and agents that are heard are looked up by nobody', async () => {
  const manager = await aManager()
  const { router, told, hosts } = aRouter(({ host }) => host !== '')
  const asked: string[] = []
  const resolve = async (host: string) => {
    asked.push(host)
    return ''
  }
  follow(router, { openManager: async () => manager.client(), resolve })
  await expect.poll(() => manager.streams.length).toBe(1)
  manager.says('shop-1', ['10.0.0.1', '10.0.0.2'])
  await expect.poll(hosts).toBe('10.0.0.1,10.0.0.2')
  expect(told.instances[1]).toEqual({ name: 'shop-1', host: '10.0.0.2', port: 3306, agent: '10.0.0.2:9400' })
  expect(told.record).toMatchObject({ epoch: 3, primary: 'shop-1' })
  const before = asked.length
  manager.says('shop-0', ['10.0.0.1', '10.0.0.9'])
  await expect.poll(hosts).toBe('10.0.0.1,10.0.0.9')
  expect(asked.length).toBe(before)
  for (const stream of manager.streams) stream.end()
  await expect.poll(() => told.record).toBeNull()
  expect(hosts(), 'what was known stays').toBe('10.0.0.1,10.0.0.9')
})

it('A manager that sees no instance, as while the StatefulSet is made anew, takes none away', async () => {
  const manager = await aManager()
  const { router, told, hosts } = aRouter(({ host }) => host !== '')
  follow(router, { openManager: async () => manager.client(), resolve: async () => '' })
  await expect.poll(() => manager.streams.length).toBe(1)
  manager.says('shop-1', ['10.0.0.1', '10.0.0.2'])
  await expect.poll(hosts).toBe('10.0.0.1,10.0.0.2')
  manager.says('shop-0', [])
  await expect.poll(() => told.record).toMatchObject({ primary: 'shop-0' })
  expect(hosts()).toBe('10.0.0.1,10.0.0.2')
})

it('Without a manager the pods’ names lead to the agents', async () => {
  const { router, hosts, told } = aRouter(({ host }) => host !== '')
  const resolve = async (host: string) => (host === 'shop-0.shop-instances.shops.svc' ? '10.0.0.1' : '10.0.0.2')
  follow(router, { openManager: noManager, resolve })
  await expect.poll(hosts).toBe('10.0.0.1,10.0.0.2')
  expect(told.record).toBeNull()
})

it('An agent that is not heard is looked for at both addresses that are known, in turn', async () => {
  const manager = await aManager()
  const tried = new Set<string>()
  const { router } = aRouter(({ name, host }) => {
    if (name === 'shop-1') tried.add(host)
    return name !== 'shop-1'
  })
  follow(router, { openManager: async () => manager.client(), resolve: async () => '10.0.0.7' })
  await expect.poll(() => manager.streams.length).toBe(1)
  manager.says('shop-0', ['10.0.0.1', '10.0.0.2'])
  await expect.poll(() => [...tried].filter((host) => host !== '').toSorted()).toEqual(['10.0.0.2', '10.0.0.7'])
  tried.clear()
  await expect.poll(() => tried.size).toBe(2)
})

it('An address is left only after a whole try there: a machine without power refuses nothing', async () => {
  const manager = await aManager()
  const looks: string[] = []
  const { router, told } = aRouter(({ name }) => name !== 'shop-1')
  const resolve = async () => {
    looks.push(told.instances[1]?.host ?? '')
    return '10.0.0.7'
  }
  follow(router, { openManager: async () => manager.client(), resolve })
  await expect.poll(() => manager.streams.length).toBe(1)
  manager.says('shop-0', ['10.0.0.1', '10.0.0.2'])
  const changes = () => looks.filter((host, at) => at > 0 && host !== looks[at - 1]).length
  await expect.poll(changes, { timeout: 20_000 }).toBeGreaterThanOrEqual(3)
  // The first address and the last address may have been in use for only a part of the time between two looks.
  const turns = looks.join().match(/(10\.0\.0\.[27])(,\1)*/g) ?? []
  expect(turns.slice(1, -1).filter((turn) => !turn.includes(','))).toEqual([])
})

it('A name server that hangs keeps no agent from the address that the manager told, nor the router from its end', async () => {
  const manager = await aManager()
  const { router, told } = aRouter(({ name }) => name !== 'shop-1')
  let isHanging = false
  const resolve = () => (isHanging ? new Promise<string>(() => undefined) : Promise.resolve('10.0.0.7'))
  const over = follow(router, { openManager: async () => manager.client(), resolve, resolveMs: 10 })
  const host = () => told.instances[1]?.host
  await expect.poll(() => manager.streams.length).toBe(1)
  manager.says('shop-0', ['10.0.0.1', '10.0.0.2'])
  await expect.poll(host).toBe('10.0.0.2')
  await expect.poll(host, { timeout: 20_000 }).toBe('10.0.0.7')
  isHanging = true
  await expect.poll(host, { timeout: 20_000 }).toBe('10.0.0.2')
  await over()
})

it('A damaged event of the manager is no word of the manager, and leaves what was known', async () => {
  const manager = await aManager()
  const { router, told, hosts } = aRouter(({ host }) => host !== '')
  follow(router, { openManager: async () => manager.client(), resolve: async () => '' })
  await expect.poll(() => manager.streams.length).toBe(1)
  manager.says('shop-1', ['10.0.0.1', '10.0.0.2'])
  await expect.poll(() => told.record).toMatchObject({ primary: 'shop-1' })
  const event = '{"name":"shops.shop","epoch":"4","primary":"shop-0","instances":[{"name":"shop-0","host":"10.0.0.9"}]}'
  for (const stream of manager.streams) stream.write(`event: state\ndata: ${event}\n\n`)
  await expect.poll(() => told.record).toBeNull()
  expect(hosts()).toBe('10.0.0.1,10.0.0.2')
  manager.says('shop-0', ['10.0.0.1', '10.0.0.9'])
  await expect.poll(hosts).toBe('10.0.0.1,10.0.0.9')
})

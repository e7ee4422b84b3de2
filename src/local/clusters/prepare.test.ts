import { createServer } from 'node:net'
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { passwordFor } from '#common/mysql/account-password.ts'
import { purgeCluster } from '../supervisor/background.ts'
import { readCluster, routerAddress } from '../folder/cluster-file.ts'
import { createCluster, reopenCluster, type NewCluster } from './prepare.ts'
import { readSecret } from '../folder/secrets.ts'
import { composeSpec, readSpec } from '../folder/spec-file.ts'
import { layoutOf } from '../folder/state-layout.ts'
import { freePort } from '#test/support/free-port.ts'
import { clusterIn, temporaryFolder } from '../testing.ts'

beforeEach(async () => {
  vi.stubEnv('REGENT_HOME', await temporaryFolder())
  onTestFinished(() => void vi.unstubAllEnvs())
})

async function wanted(changes: Partial<NewCluster> = {}): Promise<NewCluster> {
  const dir = join(await temporaryFolder(), 'shop')
  const spec = await composeSpec('shop', undefined, {})
  return { name: 'shop', dir, spec, hosts: [], apiPort: 9597, store: 'file', mysql: clusterIn(dir).mysql, ...changes }
}

async function filesBelow(dir: string): Promise<readonly string[]> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
}

describe('a new local cluster', () => {
  test('is described with an address per instance, a spec and a configuration per agent', async () => {
    const order = await wanted()
    const { cluster, claim } = await createCluster(order)
    onTestFinished(() => claim.release())
    expect(await readCluster(order.dir)).toEqual(cluster)
    expect(cluster.instances.map((one) => one.address)).toEqual(
      [1, 2, 3].map((host) => `127.24.${claim.number}.${host}`),
    )
    expect(await readSpec(layoutOf(order.dir), 'shop')).toEqual(order.spec)
    expect(await readdir(layoutOf(order.dir).instances)).toEqual(['shop-0', 'shop-1', 'shop-2'])
  })

  test('keeps its secrets in files that only their owner reads, and nowhere else', async () => {
    const order = await wanted()
    const { claim } = await createCluster(order)
    onTestFinished(() => claim.release())
    const layout = layoutOf(order.dir)
    expect((await stat(layout.secrets)).mode & 0o777).toBe(0o700)
    const [secret, password] = [await readSecret(layout.accountSecret), await readSecret(layout.clientPassword)]
    expect(password).toBe(passwordFor(secret, 'client'))
    for (const file of await filesBelow(order.dir)) {
      expect([file, (await stat(file)).mode & 0o777]).toEqual([file, 0o600])
      if (!file.startsWith(layout.secrets)) expect(await readFile(file, 'utf8')).not.toContain(secret)
    }
  })

  test('takes the secret of an earlier cluster where its folder holds that and nothing else', async () => {
    const order = await wanted()
    const layout = layoutOf(order.dir)
    await mkdir(layout.secrets, { recursive: true })
    await writeFile(layout.accountSecret, 'kept from before\n')
    const { claim } = await createCluster(order)
    onTestFinished(() => claim.release())
    expect(await readSecret(layout.clientPassword)).toBe(passwordFor('kept from before', 'client'))
  })

  test('that could not be written down leaves a folder in which the next attempt begins anew, with the secret of before', async () => {
    const order = await wanted()
    const layout = layoutOf(order.dir)
    await mkdir(layout.secrets, { recursive: true })
    await writeFile(layout.accountSecret, 'kept from before\n')
    const unwritable = { toJSON: () => expect.fail('no space left on device') }
    await expect(createCluster({ ...order, mysql: unwritable as never })).rejects.toThrow('no space left on device')
    expect(await filesBelow(order.dir)).toEqual([layout.accountSecret])
    const { claim } = await createCluster(order)
    onTestFinished(() => claim.release())
    expect(await readSecret(layout.clientPassword)).toBe(passwordFor('kept from before', 'client'))
  })

  test.each<readonly [string, (order: NewCluster) => Promise<Partial<NewCluster>>, RegExp]>([
    [
      'its folder holds secrets other than that of all passwords',
      async ({ dir }) => (
        await mkdir(layoutOf(dir).secrets, { recursive: true }),
        await writeFile(layoutOf(dir).apiToken, 'x'),
        {}
      ),
      /is not empty and holds no cluster \(secrets/,
    ],
    [
      'its folder holds something else',
      async ({ dir }) => (await mkdir(dir), await writeFile(join(dir, 'diary'), ''), {}),
      /is not empty and holds no cluster \(diary/,
    ],
    [
      'its folder is too deep for a socket',
      async ({ dir }) => ({ dir: join(dir, 'x'.repeat(90)) }),
      /too deep.*allowed are 107; choose a shorter one with --data/,
    ],
    [
      'the API’s port is taken',
      async () => ({ apiPort: await takenPort() }),
      /wanted for the API, is taken; choose another port with --port/,
    ],
    [
      'an address is not this machine’s',
      async () => ({ hosts: [1, 2, 3].map((host) => ({ address: `192.0.2.${host}`, wrapper: [] })) }),
      /192.0.2.1:3306, wanted for instance shop-0.*--hosts/,
    ],
  ])('is refused and nothing is written when %s', async (_what, change, message) => {
    const order = await wanted()
    const changed = { ...order, ...(await change(order)) }
    const filesNow = () => filesBelow(changed.dir).catch(() => [])
    const before = await filesNow()
    await expect(createCluster(changed)).rejects.toThrow(message)
    expect(await filesNow()).toEqual(before)
  })

  test('has the first port of an API that no other cluster here has, also where that one is down', async () => {
    const home = await temporaryFolder()
    vi.stubEnv('REGENT_HOME', home)
    const make = async (name: string) => {
      const order = await wanted({ name, dir: join(home, name), apiPort: undefined })
      const { cluster, claim } = await createCluster(order)
      onTestFinished(() => claim.release())
      return cluster.api.port
    }
    const [first, second] = [await make('shop'), await make('stock')]
    expect(first).toBeGreaterThanOrEqual(9500)
    expect(second).toBeGreaterThan(first)
  })

  test('comes back with its secrets, its addresses and what was changed by hand in its agents’ configuration', async () => {
    const order = await wanted()
    const first = await createCluster(order)
    const layout = layoutOf(order.dir)
    const secret = await readSecret(layout.accountSecret)
    const config = join(layout.instances, 'shop-1', 'agent.json')
    const agent = JSON.parse(await readFile(config, 'utf8')) as Record<string, unknown>
    await writeFile(config, JSON.stringify({ ...agent, timings: { observeMs: 100 }, host: 'elsewhere' }))
    await expect(reopenCluster(order.dir, first.cluster, { ...order, apiPort: 9596 })).rejects.toMatchObject({
      code: 'REGENT_ADDRESS_IN_USE',
    })
    await first.claim.release()
    const again = await reopenCluster(order.dir, first.cluster, { ...order, apiPort: 9596 })
    onTestFinished(() => again.claim.release())
    expect(again.cluster).toEqual({ ...first.cluster, api: { host: '127.0.0.1', port: 9596 } })
    expect(await readSecret(layout.accountSecret)).toBe(secret)
    expect(JSON.parse(await readFile(config, 'utf8'))).toEqual({ ...agent, timings: { observeMs: 100 } })
  })

  test('does not come back where another program has an address of its own, and no option is named that would be refused', async () => {
    const orchestrator = { port: await freePort(), hosts: 'address' } as const
    const order = { ...(await wanted()), orchestrator, router: { haproxy: ['haproxy'], settings: {} } }
    const { cluster, claim } = await createCluster(order)
    await claim.release()
    const [first] = cluster.instances
    const { host, writePort } = routerAddress(cluster)
    const places = [
      [
        first?.address ?? '',
        9400,
        /wanted for instance shop-0, is taken or no address of this machine; end what listens/,
      ],
      [host, writePort, /wanted for the router of shop, is taken; end what listens there, or say --no-router/],
      ['127.0.0.1', orchestrator.port, /is taken; choose another port with --orchestrator-port/],
    ] as const
    for (const [address, port, message] of places) {
      const server = createServer()
      await new Promise<void>((resolve) => server.listen(port, address, resolve))
      await expect(reopenCluster(order.dir, cluster, { ...order, apiPort: await freePort() })).rejects.toThrow(message)
      await new Promise((resolve) => server.close(resolve))
    }
  })

  test('is purged without what other people put into its folder', async () => {
    const order = await wanted()
    const { claim } = await createCluster(order)
    await claim.release()
    await writeFile(join(order.dir, 'diary'), '')
    await purgeCluster(layoutOf(order.dir), 'remove')
    expect(await readdir(order.dir)).toEqual(['diary'])
  })

  test('is purged without its archives unless a person said so, however often, and can be made again there', async () => {
    const order = await wanted()
    const layout = layoutOf(order.dir)
    const kept = join(order.dir, 'archives', 'shop-1')
    for (const content of ['first', 'second']) {
      const { claim } = await createCluster(order)
      await claim.release()
      const archived = join(layout.instances, 'shop-1', 'archive', 'errant-shop-1-00ff')
      await mkdir(archived, { recursive: true })
      await writeFile(join(archived, 'binlog.000001'), content)
      expect(await purgeCluster(layout, 'keep')).toEqual([kept])
      expect(await readdir(order.dir)).toEqual(['archives'])
    }
    const found = [join(kept, 'errant-shop-1-00ff'), join(kept, 'errant-shop-1-00ff.2')]
    const files = found.map((folder) => join(folder, 'binlog.000001'))
    expect((await filesBelow(order.dir)).toSorted()).toEqual(files.toSorted())
    expect(await Promise.all(files.map((file) => readFile(file, 'utf8')))).toEqual(['first', 'second'])
  })

  test('keeps archives of another cluster that was there before, also where it is removed with its own', async () => {
    const order = await wanted()
    const layout = layoutOf(order.dir)
    const earlier = join(order.dir, 'archives', 'shop-1', 'errant-shop-1-00ff')
    await mkdir(earlier, { recursive: true })
    const { claim } = await createCluster(order)
    await claim.release()
    await mkdir(join(layout.instances, 'shop-0', 'archive', 'tail-shop-0-00ff'), { recursive: true })
    await purgeCluster(layout, 'remove')
    expect(await readdir(order.dir)).toEqual(['archives'])
    expect(await readdir(join(order.dir, 'archives', 'shop-1'))).toEqual(['errant-shop-1-00ff'])
  })

  test('is purged as one without archives where no agent ever archived anything', async () => {
    const order = await wanted()
    const { claim } = await createCluster(order)
    await claim.release()
    await mkdir(join(layoutOf(order.dir).instances, 'shop-0', 'archive'))
    expect(await purgeCluster(layoutOf(order.dir), 'keep')).toEqual([])
    await expect(readdir(order.dir)).rejects.toThrow('ENOENT')
  })
})

async function takenPort(): Promise<number> {
  const server = createServer()
  const port = await freePort()
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return port
}

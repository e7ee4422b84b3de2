import { describe, expect, test, vi } from 'vitest'
import { selfSigned } from '#controller-runtime/testing-certificate.ts'
import { fileWith, temporaryFolder } from '#local/testing.ts'
import { httpServer, regent, topology } from '../testing.ts'
import { FakeKubernetes } from './testing.ts'

const notLeader = { status: 503, body: { code: 'REGENT_NOT_LEADER', detail: 'another manager leads' } }
const done = { status: 200, body: { done: true, dryRun: false, sentence: 'done it', recovery: 'r1' } }

/** One manager that knows these clusters and answers everything else with a topology. */
async function kubernetes(...clusters: readonly string[]): Promise<FakeKubernetes> {
  const kubernetes = await FakeKubernetes.start()
  await kubernetes.manager('regent-a', ({ path }) => ({
    status: 200,
    body: path.endsWith('/clusters') ? clusters.map((name) => ({ name })) : topology(),
  }))
  return kubernetes
}

describe('where a command asks', () => {
  test.each([
    ['topology shop -n other', {}, 'other.shop'],
    ['topology shop --namespace other', {}, 'other.shop'],
    ['-n other topology shop', {}, 'other.shop'],
    ['topology other/shop', {}, 'other.shop'],
    ['topology other/shop -n other', {}, 'other.shop'],
    ['topology shop --context main', {}, 'shops.shop'],
    ['topology shop --manager-namespace regent', {}, 'shops.shop'],
    ['topology shop', { REGENT_KUBECTL_PLUGIN: 'yes' }, 'shops.shop'],
    ['topology shop -n other', { REGENT_API: 'http://127.0.0.1:1', REGENT_TOKEN_FILE: '/dev/null' }, 'other.shop'],
  ])('"regent %s" with %j asks the manager on Kubernetes for %s', async (line, env, id) => {
    const fake = await kubernetes()
    expect(await fake.regent(line, env)).toMatchObject({ code: 0, err: '' })
    expect(fake.asked).toMatchObject([{ path: `/api/v1/clusters/${id}/topology`, authorization: 'Bearer api-token' }])
    await expect.poll(() => fake.api.openForwards).toBe(0)
  })

  test('without a word of Kubernetes it is never asked, even where nothing else was found; the error says how', async () => {
    vi.stubEnv('REGENT_HOME', await temporaryFolder())
    const fake = await kubernetes('shops.shop')
    for (const line of ['topology', 'topology shop', 'pause shop', 'recoveries shop']) {
      expect(await fake.regent(line)).toMatchObject({
        code: 1,
        err: expect.stringContaining('asked for with -n <namespace>') as string,
      })
    }
    expect(fake.api.requests).toEqual([])
    vi.unstubAllEnvs()
  })

  test.each([
    ['topology -n shops --api http://127.0.0.1:1', /give only one of the two/],
    ['topology -n shops --token-file x', /give only one of the two/],
    ['topology other/shop -n shops', /other\/shop is not in namespace shops/],
    ['topology -n Shops', /A namespace is/],
    ['topology a/b/c', /lower-case letters/],
  ])('"regent %s" is wrong usage', async (line, message) => {
    const fake = await kubernetes()
    const { code, err } = await fake.regent(line)
    expect(err).toMatch(message)
    expect(code).toBe(2)
    expect(fake.asked).toEqual([])
  })

  test.each([
    ['topology shop --context nowhere', 'there is no context "nowhere"; there is: main'],
    ['topology shop --kubeconfig /no/such/file', '/no/such/file cannot be used as a kubeconfig'],
  ])('"regent %s" fails, saying what is wrong with the kubeconfig', async (line, message) => {
    const fake = await kubernetes()
    expect(await fake.regent(line)).toMatchObject({ code: 1, err: expect.stringContaining(message) as string })
  })

  test('a URL takes a cluster with its namespace too', async () => {
    const paths: string[] = []
    const url = await httpServer(({ path }) => (paths.push(path), { status: 200, body: JSON.stringify(topology()) }))
    await regent(['topology', 'shops/shop'], { REGENT_API: url, REGENT_TOKEN_FILE: await fileWith('abc') })
    expect(paths).toEqual(['/api/v1/clusters/shops.shop/topology'])
  })
})

describe('the cluster', () => {
  test('is left out where the namespace has only one', async () => {
    const fake = await kubernetes('shops.shop', 'other.shop')
    expect((await fake.regent('topology --context main')).code).toBe(0)
    expect(fake.asked.at(-1)?.path).toBe('/api/v1/clusters/shops.shop/topology')
  })

  test.each([
    [['shops.a', 'shops.b', 'other.c'], 'namespace shops has several clusters, so name one of them: shops/a, shops/b'],
    [['other.c'], 'namespace shops has no cluster; there is: other/c'],
    [[], 'namespace shops has no cluster; neither has any other'],
  ])('must be named where there are %j', async (clusters, message) => {
    const fake = await kubernetes(...clusters)
    expect(await fake.regent('topology --context main')).toMatchObject({
      code: 1,
      err: expect.stringContaining(message) as string,
    })
  })

  test('is told from the id of a recovery', async () => {
    const fake = await FakeKubernetes.start()
    await fake.manager('regent-a', ({ path }) => ({
      status: 200,
      body: path.endsWith('/clusters') ? [{ name: 'shops.shop' }] : [],
    }))
    for (const line of ['recoveries shop -n shops', 'recoveries shops/shop', 'recoveries r1 -n shops -o json'])
      await fake.regent(line)
    expect(fake.asked.map(({ path }) => path).filter((path) => path.includes('recoveries'))).toEqual([
      '/api/v1/clusters/shops.shop/recoveries',
      '/api/v1/clusters/shops.shop/recoveries',
      '/api/v1/clusters/shops.shop/recoveries/r1',
    ])
  })

  test('is found from an instance, which the manager knows by its own name', async () => {
    const fake = await FakeKubernetes.start()
    await fake.manager('regent-a', () => done)
    expect((await fake.regent('fence shop-1 -n shops')).out).toContain('timeline: regent recoveries shops/shop r1')
    await fake.regent('unfence other/shop-1')
    expect((await fake.regent('switchover shop --to shop-2', { REGENT_KUBECTL_PLUGIN: 'yes' })).out).toContain(
      'timeline: kubectl regent recoveries shops/shop r1',
    )
    expect(fake.asked.map(({ path, body }) => [path, body])).toEqual([
      ['/api/v1/clusters/shops.shop/fence', { instance: 'shop-1' }],
      ['/api/v1/clusters/other.shop/unfence', { instance: 'shop-1' }],
      ['/api/v1/clusters/shops.shop/switchover', { to: 'shop-2', reason: 'asked for with regent switchover' }],
    ])
  })
})

describe('the manager', () => {
  test('is the leader where the lease names one, and its port is that of its container', async () => {
    const fake = await FakeKubernetes.start()
    await fake.manager('regent-a', () => notLeader)
    await fake.manager('regent-b', () => done, { port: 9555 })
    fake.leads('regent-b')
    expect((await fake.regent('pause shop -n shops')).code).toBe(0)
    expect(fake.asked.map(({ pod }) => pod)).toEqual(['regent-b'])
  })

  test('is the next one where one does not lead, cannot be reached or is not ready', async () => {
    const fake = await FakeKubernetes.start()
    await fake.manager('regent-a', () => notLeader)
    await fake.manager('regent-b')
    await fake.manager('regent-c', () => done, { ready: false })
    await fake.manager('regent-d', () => done)
    // Who may not read the lease is no worse off.
    fake.api.misbehave({ when: ({ path }) => path.includes('leases'), answer: { status: 403 } })
    expect((await fake.regent('pause shop -n shops')).code).toBe(0)
    expect(fake.asked.map(({ pod, body }) => [pod, body])).toEqual(
      ['regent-a', 'regent-d'].map((pod) => [pod, { reason: 'asked for with regent pause' }]),
    )
  })

  test('is asked once where the answer is lost: what was sent may have been done', async () => {
    const fake = await FakeKubernetes.start()
    await fake.manager('regent-a', (_asked, response) => (response.destroy(), null))
    await fake.manager('regent-b', () => done)
    expect(await fake.regent('pause shop -n shops')).toMatchObject({
      code: 3,
      err: expect.stringContaining('no manager answers at https://regent.regent.svc') as string,
    })
    expect(fake.asked.map(({ pod }) => pod)).toEqual(['regent-a'])
  })

  test('that refuses is quoted, and so are two of which neither leads', async () => {
    const fake = await FakeKubernetes.start()
    for (const pod of ['regent-a', 'regent-b']) await fake.manager(pod, () => notLeader)
    expect(await fake.regent('pause shop -n shops')).toMatchObject({
      code: 1,
      err: expect.stringContaining('another manager leads') as string,
    })
    expect(fake.asked).toHaveLength(2)
  })

  test('streams events through the port-forward, and is looked for again when it went away', async () => {
    const fake = await FakeKubernetes.start()
    let streams = 0
    await fake.manager('regent-a', ({ path }, response) => {
      if (!path.endsWith('/events'))
        return { status: 200, body: topology({ sentence: `drawing ${fake.asked.length}` }) }
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write('event: state\ndata: {}\n\n')
      if (++streams === 1) setTimeout(() => response.destroy(), 50)
      return null
    })
    const drawings = (out: readonly string[]) => out.join('\n').match(/drawing/g)?.length ?? 0
    const { out } = await fake.regent(
      'topology shop --watch -n shops',
      {},
      (soFar) => streams > 1 && drawings(soFar) > 1,
    )
    expect(streams).toBeGreaterThan(1)
    expect(drawings([out])).toBeGreaterThan(1)
    await expect.poll(() => fake.api.openForwards).toBe(0)
  })
})

describe('what stands in the way is said in a sentence', () => {
  const forbidden = (part: string) => ({
    when: ({ path }: { path: string }) => path.includes(part),
    times: 9,
    answer: { status: 403 },
  })

  test.each(['secrets', 'configmaps', 'pods', 'portforward'])('the right to %s is missing', async (part) => {
    const fake = await kubernetes('shops.shop')
    fake.api.misbehave(forbidden(part))
    const { code, err } = await fake.regent('topology shop -n shops')
    expect(err).toMatch(
      /In namespace regent this command must be allowed to get secrets regent-api, get configmaps regent-ca, list pods, get and create pods\/portforward/,
    )
    expect([code, err.split('\n').at(-1)?.trim()]).toEqual([1, 'REGENT_KUBE_FORBIDDEN'])
  })

  test('there is no Regent in that namespace, or none that is ready', async () => {
    const fake = await FakeKubernetes.start()
    expect(await fake.regent('topology shop --manager-namespace elsewhere')).toMatchObject({
      code: 3,
      err: expect.stringMatching(
        /there is no (Secret|ConfigMap) "regent-[a-z]+" in namespace "elsewhere": Regent is not installed there/,
      ) as string,
    })
    expect(await fake.regent('topology shop -n shops')).toMatchObject({
      code: 3,
      err: expect.stringContaining('there is no manager pod (') as string,
    })
    await fake.manager('regent-a', () => done, { ready: false })
    expect(await fake.regent('topology shop -n shops')).toMatchObject({
      code: 3,
      err: expect.stringContaining('no manager in namespace "regent" is ready, or runs: regent-a') as string,
    })
  })

  test('no manager is ready, and one that runs is asked all the same', async () => {
    const fake = await FakeKubernetes.start()
    await fake.manager('regent-a', () => done, { ready: false })
    await fake.manager('regent-b', () => done, { ready: false, runs: true })
    expect(await fake.regent('switchover shop -n shops')).toMatchObject({ code: 0 })
  })

  const [ours, otherName] = [selfSigned('regent.regent.svc'), selfSigned('other.regent.svc')]
  test.each([
    ['of another CA', ours, selfSigned('regent.regent.svc'), /self[- ]signed certificate/],
    ['for another name', otherName, otherName, /altnames/],
  ])('the certificate is %s, and the token is not sent', async (_what, trusted, certificate, message) => {
    const fake = await FakeKubernetes.start(trusted)
    await fake.manager('regent-a', () => done, { certificate })
    const { code, err } = await fake.regent('topology shop -n shops')
    expect(err).toMatch(message)
    expect(err).toContain('expected is a certificate of the CA in ConfigMap regent-ca for regent.regent.svc')
    expect([code, fake.asked]).toEqual([3, []])
  })

  test('a port-forward that is never answered ends at its deadline', async () => {
    const fake = await kubernetes('shops.shop')
    fake.api.misbehave({ when: ({ path }) => path.includes('portforward'), answer: 'silence' })
    expect(await fake.regent('topology shop -n shops')).toMatchObject({
      code: 3,
      err: expect.stringContaining('pod regent/regent-a: no connection within 4 s') as string,
    })
  })

  test('Kubernetes does not answer', async () => {
    const fake = await kubernetes('shops.shop')
    await fake.api[Symbol.asyncDispose]()
    expect(await fake.regent('topology shop -n shops')).toMatchObject({
      code: 3,
      err: expect.stringContaining('REGENT_KUBE_UNREACHABLE') as string,
    })
  })
})

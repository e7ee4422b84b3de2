import { createServer, get, type Server } from 'node:http'
import { request as tlsRequest } from 'node:https'
import type { AddressInfo } from 'node:net'
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { createAgentServer, createProbeServer, type AgentHandlers } from '#agents/http.ts'
import type { Observation } from '#topology/snapshot/observation.ts'
import { issueAuthority, issueLeaf, type Issued, type LeafWish } from '#certificates/issue.ts'
import { createHttpTransport } from '#common/http/http-transport.ts'
import { realRandom } from '#common/ports/real-world.ts'
import { HeldCertificates, type ClientTls, type TlsMaterial } from '#common/tls/tls.ts'
import { patienceMs } from '#test/support/patience.ts'
import { createHttpFeed } from './http-feed.ts'
import { say } from '#common/sentence/sentence.ts'

const shop0 = { cluster: 'shop', instance: 'shop-0' } as const
const dayMs = 86_400_000
const now = Date.now()
const servername = 'agent.shop.shops.regent'
const both = ['server', 'client'] as const

let authority: Issued
let stranger: Issued

beforeAll(async () => {
  const moment = { wallMs: now - 200 * dayMs, random: realRandom }
  authority = await issueAuthority(3_650 * dayMs, moment)
  stranger = await issueAuthority(3_650 * dayMs, moment)
})

interface Shown extends Partial<LeafWish> {
  readonly by?: Issued
  readonly trusts?: Issued
  readonly madeMs?: number
}

/** What somebody shows; of the right authority, valid and an agent’s unless said otherwise. */
async function material({
  by = authority,
  trusts = authority,
  madeMs = now,
  ...wish
}: Shown = {}): Promise<TlsMaterial> {
  const leaf = await issueLeaf(
    by,
    { dns: [servername], purposes: both, validMs: 90 * dayMs, ...wish },
    { wallMs: madeMs, random: realRandom },
  )
  return { ...leaf, ca: trusts.cert }
}

function held(first: TlsMaterial): HeldCertificates {
  const certificates = new HeldCertificates()
  certificates.put(first, say`a test`)
  return certificates
}

const handlers: AgentHandlers = {
  observation: () => ({ version: 1, ...shop0 }) as Observation,
  subscribe: () => () => undefined,
  orders: new Map([['/v1/promise', async (body: unknown) => ({ heard: body })]]),
  isLive: () => true,
  isReady: () => false,
  metrics: () => '',
}

async function listening(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function anAgent(shown: Shown = {}) {
  const certificates = held(await material(shown))
  return { address: await listening(createAgentServer(handlers, { token: 'the-token', certificates })), certificates }
}

const tlsWith = (one: TlsMaterial): ClientTls => ({ servername, certificates: { current: () => one } })

function post(address: string, tls: ClientTls, token = 'the-token') {
  const transport = createHttpTransport({ token, tls })
  onTestFinished(() => transport.close())
  return transport.post(address, '/v1/promise', { epoch: 4 }, patienceMs)
}

describe('an agent that speaks TLS', () => {
  it('answers managers and other agents of its cluster', async () => {
    const { address } = await anAgent()
    for (const shown of [{ dns: ['manager.shop.shops.regent'], purposes: ['client'] as const }, {}]) {
      expect(await post(address, tlsWith(await material(shown)))).toEqual({ heard: { epoch: 4 } })
    }
  })

  it('wants the token as well', async () => {
    const { address } = await anAgent()
    await expect(post(address, tlsWith(await material()), 'another-token')).rejects.toMatchObject({
      code: 'REGENT_UNAUTHORIZED',
      message: expect.stringContaining('bearer token') as string,
    })
  })

  it.each<readonly [string, Shown, string]>([
    ['of another authority', { by: { cert: '', key: '' } }, 'it is of an authority that is not trusted here (ca.crt)'],
    ['that has expired', { madeMs: now - 100 * dayMs }, 'it has expired'],
    ['that is not valid yet', { madeMs: now + dayMs }, 'it is not valid yet, so the clocks differ'],
    [
      'of another cluster',
      { dns: ['agent.mall.shops.regent'] },
      `it is for DNS:agent.mall.shops.regent, and calls ${servername}`,
    ],
    ['for servers only', { purposes: ['server'] }, 'it was made for another purpose'],
  ])('refuses a certificate %s, and says why', async (_, shown, why) => {
    const { address } = await anAgent()
    const client = await material({ ...shown, ...(shown.by && { by: stranger }) })
    await expect(post(address, tlsWith(client))).rejects.toMatchObject({
      code: 'REGENT_UNAUTHORIZED',
      message: `agent ${address}: the caller’s certificate is refused: ${why}`,
    })
    const lost = vi.fn()
    onTestFinished(
      createHttpFeed({ token: 'the-token', tls: tlsWith(client) }).follow(address, shop0, {
        heard: vi.fn(),
        alive: vi.fn(),
        lost,
      }),
    )
    await vi.waitFor(() =>
      expect(lost).toHaveBeenCalledWith(`${address} answered 401: the caller’s certificate is refused: ${why}`, true),
    )
  })

  it('refuses who shows no certificate, also when asked whether it is live', async () => {
    const { address } = await anAgent()
    const nobody = tlsWith({ cert: '', key: '', ca: authority.cert })
    await expect(post(address, nobody)).rejects.toMatchObject({
      code: 'REGENT_UNAUTHORIZED',
      message: expect.stringContaining('none was shown') as string,
    })
    const [host, port] = address.split(':')
    const status = await new Promise((resolve, reject) => {
      tlsRequest({ host, port, path: '/live', ca: authority.cert, servername, agent: false }, (response) =>
        resolve(response.resume().statusCode),
      )
        .on('error', reject)
        .end()
    })
    expect(status).toBe(401)
  })

  it('shows a renewed certificate to the next who comes, without a restart', async () => {
    const { address, certificates } = await anAgent({ madeMs: now - 100 * dayMs })
    const client = tlsWith(await material())
    await expect(post(address, client)).rejects.toMatchObject({
      code: 'REGENT_AGENT_UNREACHABLE',
      message: `agent ${address} (/v1/promise): its certificate is refused: it has expired`,
    })
    certificates.put(await material(), say`a test`)
    expect(await post(address, client)).toEqual({ heard: { epoch: 4 } })
  })
})

describe('who calls an agent over TLS', () => {
  it.each<readonly [string, Shown, string]>([
    ['of another authority', { by: { cert: '', key: '' } }, 'it is of an authority that is not trusted here (ca.crt)'],
    ['of another cluster', { dns: ['agent.mall.shops.regent'] }, 'it is for another name'],
    ['for clients only', { purposes: ['client'] }, 'it was made for another purpose'],
  ])('does not talk to one with a certificate %s', async (_, shown, why) => {
    const { address } = await anAgent({ ...shown, ...(shown.by && { by: stranger }) })
    const client = tlsWith(await material())
    await expect(post(address, client)).rejects.toMatchObject({
      code: 'REGENT_AGENT_UNREACHABLE',
      message: expect.stringContaining(`its certificate is refused: ${why}`) as string,
    })
  })

  it('does not talk to one that speaks plain HTTP', async () => {
    const address = await listening(createServer((_, response) => response.end('{}')))
    await expect(post(address, tlsWith(await material()))).rejects.toMatchObject({
      code: 'REGENT_AGENT_UNREACHABLE',
      message: expect.stringContaining('it does not speak TLS') as string,
    })
  })

  it('says so when it has no certificate to show yet, and tries again', async () => {
    const { address } = await anAgent()
    const certificates = new HeldCertificates()
    const tls = { servername, certificates }
    await expect(post(address, tls)).rejects.toMatchObject({
      message: expect.stringContaining('no certificate yet') as string,
    })
    const [heard, lost] = [vi.fn(), vi.fn()]
    onTestFinished(createHttpFeed({ token: 'the-token', tls }).follow(address, shop0, { heard, alive: vi.fn(), lost }))
    expect(lost).toHaveBeenCalledWith(`${address}: there is no certificate yet to show to the agent`)
    certificates.put(await material(), say`a test`)
    await vi.waitFor(() => expect(heard).toHaveBeenCalled())
  })

  it('keeps its connection however long it is idle, and makes a new one once a certificate is renewed', async () => {
    const certificates = held(await material())
    const server = createAgentServer(handlers, { token: 'the-token', certificates })
    const connected = vi.fn()
    server.on('secureConnection', connected)
    const address = await listening(server)
    const own = held(await material())
    const transport = createHttpTransport({ token: 'the-token', tls: { servername, certificates: own } })
    onTestFinished(() => transport.close())
    const call = () => transport.post(address, '/v1/promise', {}, patienceMs)
    await call()
    await call()
    // Node's own would end it after five.
    await new Promise((resolve) => setTimeout(resolve, 6_000))
    await call()
    expect(connected).toHaveBeenCalledTimes(1)
    own.put(await material(), say`a test`)
    await call()
    expect(connected).toHaveBeenCalledTimes(2)
    certificates.put(await material(), say`a test`)
    await call()
    expect(connected).toHaveBeenCalledTimes(3)
  })
})

describe('the port for probes', () => {
  it.each([
    ['/live', 200, 'yes\n'],
    ['/ready', 503, 'no\n'],
    ['/metrics', 200, handlers.metrics()],
    ['/v1/promise', 404, 'there are /live, /ready and /metrics\n'],
    ['/v1/observations', 404, 'there are /live, /ready and /metrics\n'],
  ])('answers %s with %d to anyone', async (path, status, text) => {
    const address = await listening(createProbeServer(handlers))
    const answer = await new Promise((resolve, reject) => {
      get(`http://${address}${path}`, (response) => {
        let body = ''
        response.on('data', (part) => (body += String(part))).on('end', () => resolve([response.statusCode, body]))
      }).on('error', reject)
    })
    expect(answer).toEqual([status, text])
  })
})

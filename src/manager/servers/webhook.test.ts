import { request as tlsRequest } from 'node:https'
import { connect, type PeerCertificate, type TLSSocket } from 'node:tls'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { issueAuthority, issueLeaf, type Issued } from '#certificates/issue.ts'
import { createLogger } from '#common/log/logger.ts'
import { realRandom } from '#common/ports/real-world.ts'
import { HeldCertificates } from '#common/tls/tls.ts'
import { admissionRoutes, type AdmissionReview, type AdmissionRoute } from '#kube/admission/admission.ts'
import { aCluster } from '#kube/testing.ts'
import { webhookServer } from './webhook.ts'
import { say } from '#common/sentence/sentence.ts'

const logged: string[] = []
const log = createLogger({ level: 'debug', name: 'test', destination: { write: (line) => void logged.push(line) } })
const address = { host: '127.0.0.1', port: 0 }
const servername = 'regent-webhook.regent.svc'
const moment = { wallMs: Date.now(), random: realRandom }

let authority: Issued

beforeAll(async () => {
  authority = await issueAuthority(86_400_000, moment)
})

const material = async () => ({
  ...(await issueLeaf(authority, { dns: [servername], purposes: ['server'], validMs: 3_600_000 }, moment)),
  ca: authority.cert,
})

async function aWebhook(
  routes: Readonly<Record<string, AdmissionRoute>> = admissionRoutes({
    defaults: { image: 'mysql:8.4.9' },
    lifecycleAgent: { image: 'regent:1', pullPolicy: 'Always', address: '0.0.0.0' },
    clusterOf: () => undefined,
  }),
) {
  const certificates = new HeldCertificates()
  const server = webhookServer({ address, certificates, routes, log })
  const ending = new AbortController()
  const running = server.run(ending.signal)
  const stop = (): Promise<void> => (ending.abort(), running)
  onTestFinished(stop)
  certificates.put(await material(), say`a test`)
  const { port } = await server.ready()
  return { port, certificates, stop }
}

const review = (request: object) =>
  JSON.stringify({
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    request: { uid: 'u-1', operation: 'CREATE', namespace: 'shops', name: 'shop', ...request },
  })

/** As the API server does: it trusts the authority that it was told of, and asks for the Service’s name. */
function post(
  port: number,
  path: string,
  body: string,
  method = 'POST',
): Promise<{ readonly status: number | undefined; readonly body: unknown }> {
  return new Promise((resolve, reject) => {
    const outgoing = tlsRequest(
      {
        host: '127.0.0.1',
        port,
        path,
        method,
        ca: authority.cert,
        servername,
        agent: false,
        headers: { 'content-type': 'application/json' },
      },
      (response) => {
        let text = ''
        response
          .on('data', (part) => (text += String(part)))
          .on('end', () => resolve({ status: response.statusCode, body: JSON.parse(text) as unknown }))
      },
    )
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}

function fails(): never {
  throw new TypeError('hunter2')
}

describe('the webhook server', () => {
  it('answers with a review of the same uid: defaults, yes and no', async () => {
    const { port } = await aWebhook()
    const defaulted = await post(port, '/mutate/mysqlclusters?timeout=10s', review({ object: aCluster() }))
    expect(defaulted).toMatchObject({
      status: 200,
      body: {
        apiVersion: 'admission.k8s.io/v1',
        kind: 'AdmissionReview',
        response: { uid: 'u-1', allowed: true, patchType: 'JSONPatch' },
      },
    })
    expect(
      await post(port, '/validate/mysqlclusters', review({ object: aCluster({ image: 'mysql:8.4.3' }) })),
    ).toMatchObject({ status: 200, body: { response: { uid: 'u-1', allowed: true } } })
    const refused = (await post(port, '/validate/mysqlclusters', review({ object: aCluster({ image: 'mysql:5.7' }) })))
      .body as AdmissionReview
    expect(refused.response).toMatchObject({
      allowed: false,
      status: { message: expect.stringContaining('REGENT_MYSQL_TOO_OLD') as string },
    })
    expect(logged.at(-1)).toContain('webhook refuses to create shops/shop')
    // Whoever reaches the port can have that said: `info` and above stay free of it.
    expect(logged.at(-1)).toContain('"level":"debug"')
  })

  it('answers about pods that ask for the lifecycle agent, and says whom a refusal is about', async () => {
    const { port } = await aWebhook()
    const metadata = {
      generateName: 'web-',
      annotations: {
        'regent.dev/lifecycle-agent': 'true',
        'regent.dev/lifecycle-open': 'true',
        'regent.dev/lifecycle-config-map': 'web-env',
      },
    }
    const pod = (spec: object) =>
      review({ name: '', object: { metadata, spec: { containers: [{ name: 'web' }], ...spec } } })
    const put = (await post(port, '/mutate/pods?timeout=5s', pod({}))).body as AdmissionReview
    const patch = JSON.parse(Buffer.from(put.response.patch ?? '', 'base64').toString()) as readonly object[]
    expect(patch.map((operation) => 'path' in operation && operation.path)).toEqual([
      '/spec/volumes',
      '/spec/initContainers',
      '/spec/containers/-',
    ])
    expect(await post(port, '/mutate/pods', pod({ hostNetwork: true }))).toMatchObject({
      status: 200,
      body: { response: { uid: 'u-1', allowed: false, status: { code: 422 } } },
    })
    expect(logged.at(-1)).toContain('webhook refuses to create shops/web-')
  })

  it('takes a new certificate for the next connection', async () => {
    const { port, certificates } = await aWebhook()
    const next = await material()
    const before = await shownAt(port)
    certificates.put(next, say`a test`)
    const after = await shownAt(port)
    expect(after.serialNumber).not.toBe(before.serialNumber)
  })

  it('refuses what it cannot judge, and keeps what failed for the log', async () => {
    const { port } = await aWebhook({ '/validate/mysqlclusters': { review: fails, unjudged: 'refused' } })
    const answer = await post(port, '/validate/mysqlclusters', review({}))
    expect(answer).toMatchObject({
      status: 200,
      body: { response: { uid: 'u-1', allowed: false, status: { code: 500 } } },
    })
    expect([JSON.stringify(answer).includes('hunter2'), logged.at(-1)?.includes('hunter2')]).toEqual([false, true])
  })

  it('answers with an error of HTTP about a pod that it cannot judge, which is then made without the agent', async () => {
    const { port } = await aWebhook({ '/mutate/pods': { review: fails, unjudged: 'leftToPolicy' } })
    const answer = await post(port, '/mutate/pods', review({}))
    expect(answer).toMatchObject({ status: 500, body: { code: 'REGENT_INTERNAL' } })
    expect(answer.body).not.toHaveProperty('response')
    expect([JSON.stringify(answer).includes('hunter2'), logged.at(-1)?.includes('hunter2')]).toEqual([false, true])
  })

  it.each<readonly [string, string, string, number]>([
    ['another path', '/validate/pods', '{}', 404],
    ['a path of every object', '/constructor', '{}', 404],
    ['what is no JSON', '/validate/mysqlclusters', '{', 400],
    ['what is no review', '/validate/mysqlclusters', '[]', 400],
    ['a review without end', '/validate/mysqlclusters', `"${'x'.repeat(9 * 1024 * 1024)}"`, 413],
  ])('answers %s with a problem', async (_, path, body, status) => {
    const { port } = await aWebhook()
    expect(await post(port, path, body)).toMatchObject({ status, body: { status } })
  })

  it('takes POST only', async () => {
    const { port } = await aWebhook()
    expect(await post(port, '/validate/mysqlclusters', '', 'PUT')).toMatchObject({
      status: 405,
      body: { code: 'REGENT_METHOD_NOT_ALLOWED' },
    })
  })

  it('says so when its address is taken', async () => {
    const { port } = await aWebhook()
    const certificates = new HeldCertificates()
    certificates.put(await material(), say`a test`)
    const second = webhookServer({ address: { ...address, port }, certificates, routes: {}, log })
    await expect(second.run(new AbortController().signal)).rejects.toMatchObject({
      code: 'REGENT_ADDRESS_IN_USE',
      message: expect.stringContaining('--webhook-port') as string,
    })
    await expect(second.ready()).rejects.toMatchObject({ code: 'REGENT_ADDRESS_IN_USE' })
  })

  it('does not wait for whoever never ends what it sends', async () => {
    const { port, stop } = await aWebhook()
    const outgoing = tlsRequest({
      host: '127.0.0.1',
      port,
      path: '/validate/mysqlclusters',
      method: 'POST',
      ca: authority.cert,
      servername,
      agent: false,
    })
    const cut = new Promise((resolve) => outgoing.on('error', resolve))
    await new Promise<void>((resolve) => outgoing.write('{', () => resolve()))
    await stop()
    expect(await cut).toMatchObject({ code: 'ECONNRESET' })
  })

  it('ends when it is told to, also while it waits for a certificate', async () => {
    const { stop } = await aWebhook()
    await stop()
    const ending = new AbortController()
    const waiting = webhookServer({ address, certificates: new HeldCertificates(), routes: {}, log }).run(ending.signal)
    ending.abort()
    await waiting
  })
})

function shownAt(port: number): Promise<PeerCertificate> {
  return new Promise((resolve, reject) => {
    const socket: TLSSocket = connect({ host: '127.0.0.1', port, ca: authority.cert, servername }, () => {
      resolve(socket.getPeerCertificate())
      socket.end()
    })
    socket.on('error', reject)
  })
}

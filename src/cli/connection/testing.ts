import { writeFile } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { FakeApiServer } from '#controller-runtime/testing-api-server.ts'
import type { StoredObject } from '#controller-runtime/testing-api-state.ts'
import { selfSigned, type TestCertificate } from '#controller-runtime/testing-certificate.ts'
import { temporaryFolder } from '#local/testing.ts'
import { regent, type Asked, type Interrupt, type Ran } from '../testing.ts'

export interface ManagerOptions {
  readonly ready?: boolean
  /** Its containers run; so they do where it is ready. */
  readonly runs?: boolean
  readonly certificate?: TestCertificate
  /** The container's port; the fake pod listens there. */
  readonly port?: number
}

type Respond = (asked: Asked, response: ServerResponse) => { readonly status: number; readonly body: unknown } | null

/**
 * A Kubernetes with what Regent publishes in namespace `regent`, and a kubeconfig for it whose current context is
 * namespace `shops`.
 */
export class FakeKubernetes {
  readonly api: FakeApiServer
  readonly kubeconfig: string
  readonly asked: (Asked & { readonly pod: string })[] = []
  readonly #certificate: TestCertificate

  private constructor(api: FakeApiServer, kubeconfig: string, certificate: TestCertificate) {
    this.api = api
    this.kubeconfig = kubeconfig
    this.#certificate = certificate
    this.#create('v1/secrets', 'regent-api', { data: { token: base64('api-token\n') } })
    this.#create('v1/configmaps', 'regent-ca', { data: { 'ca.crt': this.#certificate.cert } })
  }

  static async start(certificate = selfSigned('regent.regent.svc')): Promise<FakeKubernetes> {
    const api = await FakeApiServer.start()
    onTestFinished(() => api[Symbol.asyncDispose]())
    const kubeconfig = join(await temporaryFolder(), 'config')
    const context = { cluster: 'here', user: 'me', namespace: 'shops' }
    const config = {
      'current-context': 'main',
      contexts: [{ name: 'main', context }],
      clusters: [{ name: 'here', cluster: { server: api.connection.server } }],
      users: [{ name: 'me', user: {} }],
    }
    await writeFile(kubeconfig, JSON.stringify(config))
    return new FakeKubernetes(api, kubeconfig, certificate)
  }

  /** Runs a command line where this is what KUBECONFIG names. */
  async regent(line: string, env: Readonly<Record<string, string>> = {}, interrupt?: Interrupt): Promise<Ran> {
    return regent(line.split(' '), { KUBECONFIG: this.kubeconfig, ...env }, interrupt)
  }

  /** A manager's pod; without `respond` nothing listens in it. */
  async manager(pod: string, respond?: Respond, options: ManagerOptions = {}): Promise<void> {
    const { ready = true, runs = ready, certificate = this.#certificate, port = 9500 } = options
    this.#create('v1/pods', pod, {
      spec: {
        containers: [
          {
            ports: [
              { name: 'metrics', containerPort: 8080 },
              { name: 'api', containerPort: port },
            ],
          },
        ],
      },
      status: {
        phase: runs ? 'Running' : 'Pending',
        conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }],
      },
    })
    if (respond !== undefined)
      this.api.forwards.set(`regent/${pod}:${port}`, await this.#serve(pod, respond, certificate))
  }

  leads(pod: string): void {
    this.#create('coordination.k8s.io/v1/leases', 'regent-manager', { spec: { holderIdentity: `${pod}_7d1f` } })
  }

  #create(
    kind: string,
    name: string,
    content: Pick<StoredObject, 'spec' | 'status'> | { readonly data: object },
  ): void {
    const labels = { 'app.kubernetes.io/name': 'regent', 'app.kubernetes.io/component': 'manager' }
    this.api.state.create(kind, 'regent', { metadata: { name, namespace: 'regent', labels }, ...content })
  }

  async #serve(pod: string, respond: Respond, certificate: TestCertificate): Promise<number> {
    const server = createServer(certificate, (request, response) => {
      let text = ''
      request.setEncoding('utf8').on('data', (part: string) => (text += part))
      request.on('end', () => {
        const asked = {
          pod,
          method: request.method ?? '',
          path: request.url ?? '',
          body: text === '' ? undefined : (JSON.parse(text) as unknown),
          authorization: request.headers.authorization ?? '',
        }
        this.asked.push(asked)
        const answer = respond(asked, response)
        if (answer !== null) response.writeHead(answer.status).end(JSON.stringify(answer.body))
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => {
      server.closeAllConnections()
      server.close()
    })
    return (server.address() as AddressInfo).port
  }
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}

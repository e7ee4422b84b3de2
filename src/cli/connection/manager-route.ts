import type { Duplex } from 'node:stream'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { Agent, fetch } from 'undici'
import { catalogue } from '#common/errors/error-catalogue.ts'
import { described, RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import type { KubeConnection } from '#controller-runtime/kube-config/kube-config.ts'
import { openPortForward } from '#controller-runtime/port-forward/port-forward.ts'
import { manager } from '#kube/names/manager-names.ts'
import type { ApiRoute } from './api-reader.ts'
import { findManagers, unreachable, withRights, type FoundManagers, type ManagerPod } from './find-managers.ts'

/** For the port-forward and the handshake within it, so that a read has time for a second manager. */
const connectMs = 4_000

/**
 * The way to the managers in a namespace: HTTPS within a port-forward. The API server's own proxy would do for neither:
 * it takes the `Authorization` header for itself. Only the leader changes things, so a request goes to the leader
 * first, and on to the next where a pod cannot be reached or does not lead.
 */
export class ManagerRoute implements ApiRoute, AsyncDisposable {
  readonly url: string
  readonly token: string
  readonly #connection: KubeConnection
  readonly #namespace: string
  readonly #ending = new AbortController()
  /** An agent for each pod, the leader's first. */
  #agents: readonly Agent[] | undefined

  private constructor(connection: KubeConnection, namespace: string, found: FoundManagers) {
    this.#connection = connection
    this.#namespace = namespace
    this.url = `https://${this.#serverName}`
    this.token = found.token
    this.#agents = this.#agentsFor(found)
  }

  static async find(connection: KubeConnection, namespace: string): Promise<ManagerRoute> {
    return new ManagerRoute(connection, namespace, await findManagers(connection, namespace))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending.abort(new Error('the command is done'))
    await this.#forget()
  }

  async fetch(url: string, init: RequestInit): Promise<Response> {
    this.#agents ??= this.#agentsFor(await findManagers(this.#connection, this.#namespace))
    try {
      return await this.#askInTurn(this.#agents, url, init)
    } catch (error) {
      // Pods come and go: the next request looks anew.
      await this.#forget()
      throw error
    }
  }

  async #askInTurn([agent, ...others]: readonly Agent[], url: string, init: RequestInit): Promise<Response> {
    try {
      // Node's own fetch takes no dispatcher of this undici; the two agree on what they are given and give.
      const response = (await fetch(url, { ...init, dispatcher: agent } as Parameters<
        typeof fetch
      >[1])) as unknown as Response
      if (others.length === 0 || !(await isFollowers(response))) return response
    } catch (error) {
      const cause = error instanceof Error ? error.cause : undefined
      // What did not connect was not sent; anything else may have been carried out.
      if (!(cause instanceof RegentError)) throw error
      if (others.length === 0 || cause.code === 'REGENT_KUBE_FORBIDDEN') throw cause
    }
    return this.#askInTurn(others, url, init)
  }

  get #serverName(): string {
    return `${manager.service}.${this.#namespace}.svc`
  }

  #agentsFor({ pods, ca }: FoundManagers): readonly Agent[] {
    return pods.map(
      (pod) =>
        new Agent({
          connect: (_options, done) =>
            void this.#connect(pod, ca).then(
              (socket) => done(null, socket),
              (error: Error) => done(error, null),
            ),
        }),
    )
  }

  async #forget(): Promise<void> {
    const agents = this.#agents ?? []
    this.#agents = undefined
    await Promise.all(agents.map((agent) => agent.destroy()))
  }

  async #connect(pod: ManagerPod, ca: string): Promise<TLSSocket> {
    const signal = AbortSignal.any([this.#ending.signal, AbortSignal.timeout(connectMs)])
    try {
      const tunnel = await openPortForward(
        this.#connection,
        { namespace: this.#namespace, pod: pod.name, port: pod.port },
        signal,
      )
      return await secured(tunnel, { ca, servername: this.#serverName }, signal)
    } catch (error) {
      if (error instanceof RegentError) throw withRights(error, this.#namespace)
      const expected = say`expected is a certificate of the CA in ConfigMap ${manager.authorityConfigMap} for ${this.#serverName}`
      throw unreachable(
        say`pod ${this.#namespace}/${pod.name}: ${signal.aborted ? say`no connection within ${connectMs / 1_000} s` : say`${described(error)} (${expected})`}`,
        error,
      )
    }
  }
}

/** TLS within the port-forward. The name and the CA are Regent's own, whatever host the bytes go through. */
function secured(
  tunnel: Duplex,
  tls: { readonly ca: string; readonly servername: string },
  signal: AbortSignal,
): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = connectTls({ ...tls, socket: tunnel, ALPNProtocols: ['http/1.1'] })
    const giveUp = (): void => void socket.destroy(signal.reason as Error)
    if (signal.aborted) giveUp()
    signal.addEventListener('abort', giveUp, { once: true })
    tunnel.on('error', (error: Error) => (reject(error), socket.destroy()))
    socket.once('error', (error: Error) => (reject(error), tunnel.destroy()))
    socket.once('close', () => reject(new Error('the connection was closed')))
    socket.once('secureConnect', () => {
      signal.removeEventListener('abort', giveUp)
      resolve(socket)
    })
  })
}

/** Reads a copy, and lets the answer go where it is to be asked elsewhere. */
async function isFollowers(response: Response): Promise<boolean> {
  if (response.status !== catalogue.REGENT_NOT_LEADER.status) return false
  const text = await response.clone().text()
  return text.includes('"REGENT_NOT_LEADER"')
}

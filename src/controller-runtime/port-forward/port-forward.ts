import { Duplex } from 'node:stream'
import type { WebSocket } from 'ws'
import { described, RegentError } from '#common/errors/errors.ts'
import { reported, say } from '#common/sentence/sentence.ts'
import { kubePath } from '#common/http/kube-path.ts'
import { KubeApiError } from '../client/kube-api-error.ts'
import type { KubeConnection } from '../kube-config/kube-config.ts'
import { unlessAborted } from '../client/kube-transport.ts'
import { beginWebSocket, opened } from './websocket-upgrade.ts'

export interface PodPort {
  readonly namespace: string
  readonly pod: string
  readonly port: number
}

/**
 * The kubelet's own subprotocol, which every API server passes on: channel 0 is the data, channel 1 why it failed. The
 * newer one (`SPDY/3.1+portforward.k8s.io`) wraps all of SPDY, to carry many connections in one; client-node speaks the
 * older one too, but ends no stream when the pod does and drops what the server says when it refuses.
 */
const protocol = 'v4.channel.k8s.io'
const dataChannel = 0
const errorChannel = 1

/**
 * Connects to a port of a pod through the API server, as `kubectl port-forward` does. From Kubernetes 1.35 on this
 * takes the verb create on pods/portforward, before get. Rejects with KubeApiError when refused,
 * `REGENT_KUBE_UNREACHABLE` when nothing answers, the signal's reason when aborted.
 */
export async function openPortForward(
  connection: KubeConnection,
  target: PodPort,
  signal: AbortSignal,
): Promise<Duplex> {
  try {
    return await connected(connection, target, signal, false)
  } catch (error) {
    // The credentials may have run out since they were read.
    if (error instanceof KubeApiError && error.status === 401) return connected(connection, target, signal, true)
    throw error
  }
}

async function connected(
  connection: KubeConnection,
  target: PodPort,
  signal: AbortSignal,
  fresh: boolean,
): Promise<Duplex> {
  const { headers, tls } = await unlessAborted(connection.credentials(fresh), signal)
  const { namespace, pod: name, port } = target
  const ports = { group: '', version: 'v1', plural: 'pods', namespace, name, subresource: 'portforward' }
  const url = connection.server + kubePath(ports, { ports: port })
  const request = { url, headers, protocol }
  try {
    const websocket = await beginWebSocket(connection, tls, request, signal)
    // Listens before it is open: what the kubelet says may come with the answer.
    const stream = new PortForward(websocket, target)
    await opened(websocket, request, signal)
    stream.begin()
    return stream
  } catch (error) {
    if (signal.aborted || error instanceof RegentError) throw error
    throw new RegentError(
      'REGENT_KUBE_UNREACHABLE',
      say`API server ${connection.server} (GET ${new URL(url).pathname}): ${described(error)}`,
      { cause: error },
    )
  }
}

/**
 * The data channel as a stream of bytes. The channel has no half-close: a caller that ends writing hears nothing more.
 */
class PortForward extends Duplex {
  readonly #websocket: WebSocket
  readonly #target: PodPort
  /** Each channel begins with the port's number, two bytes. */
  readonly #unsaid = { [dataChannel]: 2, [errorChannel]: 2 }
  #isOpen = false

  constructor(websocket: WebSocket, target: PodPort) {
    super()
    this.#websocket = websocket
    this.#target = target
    websocket.binaryType = 'nodebuffer'
    websocket.on('open', () => {
      this.#isOpen = true
      websocket.pause()
    })
    websocket.on('message', (message: Buffer) => this.#take(message))
    // Before it is open, whoever opens it is told.
    websocket.on('error', (error) => void (this.#isOpen && this.destroy(error)))
    websocket.on('close', () => this.push(null))
  }

  /**
   * From now on what the kubelet says is heard: a refusal that came with the answer is an error of the stream, and
   * whoever opens the stream can listen for it by then.
   */
  begin(): void {
    setImmediate(() => this.#websocket.resume())
  }

  override _read(): void {
    this.#websocket.resume()
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#websocket.send(Buffer.concat([Uint8Array.of(dataChannel), chunk]), { binary: true }, done)
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#websocket.close()
    done()
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#websocket.terminate()
    done(error)
  }

  #take(message: Buffer): void {
    try {
      this.#carry(message[0], message.subarray(1))
    } catch (error) {
      this.destroy(error as Error)
    }
  }

  #carry(channel: number | undefined, said: Buffer): void {
    if (channel !== dataChannel && channel !== errorChannel) return
    const portBytes = Math.min(this.#unsaid[channel], said.length)
    this.#unsaid[channel] -= portBytes
    const bytes = said.subarray(portBytes)
    if (bytes.length === 0) return
    if (channel === dataChannel) {
      if (!this.push(bytes)) this.#websocket.pause()
      return
    }
    const { namespace, pod, port } = this.#target
    throw new RegentError(
      'REGENT_KUBE_API',
      say`port ${port} of pod ${namespace}/${pod}: ${reported(bytes.toString('utf8'))}`,
    )
  }
}

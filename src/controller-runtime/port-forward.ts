import { Duplex } from 'node:stream'
import { describeError, RegentError } from '../common/errors.ts'
import { KubeApiError } from './kube-api-error.ts'
import type { KubeConnection } from './kube-config.ts'
import { dispatcherFor } from './kube-dispatcher.ts'
import { unlessAborted } from './kube-transport.ts'
import { frameOf, MessageReader, opcodes } from './websocket-frames.ts'
import { upgradeToWebSocket } from './websocket-upgrade.ts'

export interface PodPort {
  readonly namespace: string
  readonly pod: string
  readonly port: number
}

/**
 * The kubelet's own subprotocol, which every API server passes on: channel 0 is the data, channel 1 why it failed. The newer one (`SPDY/3.1+portforward.k8s.io`) wraps all
 * of SPDY, to carry many connections in one; client-node speaks this one too, but ends no stream when the pod does and drops what the server says when it refuses.
 */
const protocol = 'v4.channel.k8s.io'
const dataChannel = 0
const errorChannel = 1

/**
 * Connects to a port of a pod through the API server, as `kubectl port-forward` does. From Kubernetes 1.35 on this takes the verb create on
 * pods/portforward, before get. Rejects with KubeApiError when refused, `REGENT_KUBE_UNREACHABLE` when nothing answers, the signal's reason when aborted.
 */
export async function openPortForward(connection: KubeConnection, target: PodPort, signal: AbortSignal): Promise<Duplex> {
  try {
    return await connected(connection, target, signal, false)
  } catch (error) {
    // The credentials may have run out since they were read.
    if (error instanceof KubeApiError && error.status === 401) return connected(connection, target, signal, true)
    throw error
  }
}

async function connected(connection: KubeConnection, target: PodPort, signal: AbortSignal, fresh: boolean): Promise<Duplex> {
  const { headers, tls } = await unlessAborted(connection.credentials(fresh), signal)
  const dispatcher = dispatcherFor(connection, tls)
  const url = `${connection.server}/api/v1/namespaces/${encodeURIComponent(target.namespace)}/pods/${encodeURIComponent(target.pod)}/portforward?ports=${target.port}`
  try {
    return new PortForward(await upgradeToWebSocket(dispatcher, { url, headers, protocol }, signal), target)
  } catch (error) {
    await dispatcher.destroy()
    if (signal.aborted || error instanceof RegentError) throw error
    throw new RegentError('REGENT_KUBE_UNREACHABLE', `API server ${connection.server} (GET ${new URL(url).pathname}): ${describeError(error)}`, { cause: error })
  }
}

/** The data channel as a stream of bytes. It has no half-close: who ends writing hears nothing more. */
class PortForward extends Duplex {
  readonly #socket: Duplex
  readonly #target: PodPort
  readonly #messages = new MessageReader()
  /** Each channel begins with the port's number, two bytes. */
  readonly #unsaid = { [dataChannel]: 2, [errorChannel]: 2 }

  constructor(socket: Duplex, target: PodPort) {
    super()
    this.#socket = socket
    this.#target = target
    socket.on('data', (chunk: Buffer) => this.#take(chunk))
    socket.on('end', () => this.push(null))
    socket.on('error', (error) => this.destroy(error))
    socket.on('close', () => this.push(null))
  }

  override _read(): void {
    this.#socket.resume()
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#socket.write(frameOf(opcodes.binary, Buffer.concat([Uint8Array.of(dataChannel), chunk])), done)
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#socket.end(frameOf(opcodes.close, new Uint8Array()), () => done())
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#socket.destroy()
    done(error)
  }

  #take(chunk: Buffer): void {
    try {
      for (const { opcode, payload } of this.#messages.push(chunk)) {
        if (opcode === opcodes.ping) this.#socket.write(frameOf(opcodes.pong, payload))
        else if (opcode === opcodes.close) this.#socket.end()
        else if (opcode !== opcodes.pong) this.#carry(payload[0], payload.subarray(1))
      }
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
      if (!this.push(bytes)) this.#socket.pause()
      return
    }
    const { namespace, pod, port } = this.#target
    throw new RegentError('REGENT_KUBE_API', `port ${port} of pod ${namespace}/${pod}: ${bytes.toString('utf8')}`)
  }
}

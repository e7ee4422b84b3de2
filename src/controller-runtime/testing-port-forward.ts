import type { IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import type { Duplex } from 'node:stream'
import { WebSocketServer, type WebSocket } from 'ws'

const server = new WebSocketServer({
  noServer: true,
  perMessageDeflate: false,
  handleProtocols: () => 'v4.channel.k8s.io',
})

/**
 * What a kubelet does with a port-forward over a WebSocket: channel 0 is joined to `port` of loopback; undefined:
 * nothing listens in the pod.
 */
export function answerPortForward(request: IncomingMessage, socket: Duplex, port: number | undefined): void {
  server.handleUpgrade(request, socket, Buffer.alloc(0), (websocket) => join(websocket, port))
}

function join(websocket: WebSocket, port: number | undefined): void {
  const send = (channel: number, bytes: Uint8Array, sent?: () => void): void =>
    websocket.send(Buffer.concat([Uint8Array.of(channel), bytes]), { binary: true }, () => sent?.())
  const number = Uint8Array.of(0x1c, 0x25)
  send(0, number)
  send(1, number)
  if (port === undefined) {
    send(1, Buffer.from('error forwarding port: connection refused'))
    websocket.close()
    return
  }
  const inPod = connect(port, '127.0.0.1')
  websocket.on('message', (message: Buffer) => void inPod.write(message.subarray(1)))
  inPod.on('data', (bytes) => {
    inPod.pause()
    send(0, bytes, () => inPod.resume())
  })
  inPod.on('end', () => websocket.close())
  inPod.on('error', () => websocket.terminate())
  inPod.on('close', () => websocket.close())
  websocket.on('error', () => inPod.destroy())
  websocket.on('close', () => inPod.destroy())
}

import type { IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import type { Duplex } from 'node:stream'
import { frameOf, MessageReader, opcodes } from './websocket-frames.ts'
import { acceptOf } from './websocket-upgrade.ts'

/** What a kubelet does with a port-forward over a WebSocket: channel 0 is joined to `port` of loopback; undefined: nothing listens in the pod. */
export function answerPortForward(request: IncomingMessage, socket: Duplex, port: number | undefined): void {
  const accept = acceptOf(request.headers['sec-websocket-key'] ?? '')
  socket.write(`HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\nSec-WebSocket-Protocol: v4.channel.k8s.io\r\n\r\n`)
  const send = (channel: number, bytes: Uint8Array): boolean => socket.write(frameOf(opcodes.binary, Buffer.concat([Uint8Array.of(channel), bytes]), undefined))
  const number = Uint8Array.of(0x1c, 0x25)
  send(0, number)
  send(1, number)
  if (port === undefined) {
    send(1, Buffer.from('error forwarding port: connection refused'))
    socket.end(frameOf(opcodes.close, new Uint8Array(), undefined))
    return
  }
  const inPod = connect(port, '127.0.0.1')
  const messages = new MessageReader()
  socket.on('data', (chunk: Buffer) => {
    for (const { opcode, payload } of messages.push(chunk)) {
      if (opcode === opcodes.binary) inPod.write(payload.subarray(1))
      if (opcode === opcodes.close) inPod.end()
    }
  })
  inPod.on('data', (bytes) => void (send(0, bytes) || inPod.pause()))
  socket.on('drain', () => inPod.resume())
  socket.on('end', () => inPod.end())
  inPod.on('end', () => socket.end(frameOf(opcodes.close, new Uint8Array(), undefined)))
  for (const [one, other] of [[socket, inPod], [inPod, socket]] as const) {
    one.on('error', () => other.destroy())
    one.on('close', () => other.destroy())
  }
}

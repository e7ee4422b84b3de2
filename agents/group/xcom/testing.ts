import { createServer, type Server, type Socket } from 'node:net'
import { headerBytes, operationAt, operations, cargoes, type Configuration, type MemberIdentity } from './messages.ts'
import type { Answer, Synode } from './messages.ts'
import { XdrWriter } from './xdr.ts'

export const groupId = 0x4317e324

export function aMember(port: number, incarnation = `176372939123456${port % 100}`): MemberIdentity {
  return { address: `127.0.0.1:${port}`, incarnation }
}

/** A configuration of these members, in force from the 40th message on. */
export function aConfiguration(members: readonly MemberIdentity[], more: Partial<Configuration> = {}): Configuration {
  const at = (message: bigint): Synode => ({ group: groupId, message, node: 0 })
  const alive = members.map(() => true)
  return { start: at(40n), bootKey: at(29n), members, alive, eventHorizon: 10, mostLeaders: 0, ...more }
}

/** The body of an answer, as a member writes it. */
export function answerBody(parts: {
  readonly operation: number
  readonly snapshot?: Buffer
  readonly answer?: Answer
  readonly newest?: bigint
  readonly delivered?: bigint
  readonly group?: number
}): Buffer {
  const { operation, snapshot, answer = 'ok', newest = 0n, delivered = 0n, group = groupId } = parts
  const before = new XdrWriter()
    .u32(0xffff_ffff, 0xffff_ffff, 0)
    .synode({ group, message: newest, node: 1 })
    .u32(0, 0, 0, 0, 0, operation)
    .synode({ group: 0, message: 0n, node: 0 })
    .u32(0, 0, 0, 0)
    .done()
  const after = new XdrWriter()
    .u32(['ok', 'fail', 'retry', 'redirect'].indexOf(answer), 0, 1)
    .synode({ group, message: delivered, node: 1 })
    .u32(10, 0, 0)
    .done()
  const pointed = snapshot === undefined ? [Buffer.alloc(4)] : [new XdrWriter().u32(1).done(), snapshot]
  return Buffer.concat([before, ...pointed, after])
}

/** A snapshot as a member writes it, without its pointer. */
export function snapshotBytes(configurations: readonly (Configuration | null)[]): Buffer {
  const log = new XdrWriter()
    .synode({ group: groupId, message: 40n, node: 0 })
    .synode({ group: groupId, message: 60n, node: 2 })
    .u32(configurations.length)
    .done()
  return Buffer.concat([log, ...configurations.map(configurationBytes), new XdrWriter().u32(0).done()])
}

function configurationBytes(configuration: Configuration | null): Buffer {
  if (configuration === null) return Buffer.alloc(4)
  const { start, bootKey, members, alive, eventHorizon, mostLeaders } = configuration
  const writer = new XdrWriter().u32(1).synode(start).synode(bootKey).u32(members.length)
  for (const { address, incarnation } of members)
    writer.bytes(Buffer.from(address)).bytes(Buffer.from(incarnation, 'latin1')).u32(1, 10, 7)
  return writer.u32(alive.length, ...alive.map(Number), eventHorizon, mostLeaders, 0).done()
}

export function framedAs(body: Buffer, { version = 10, type = 0, length = body.length } = {}): Buffer {
  const header = Buffer.alloc(headerBytes)
  header.writeUInt32BE(version, 0)
  header.writeUInt32BE(length, 4)
  header.writeUInt8(type, 8)
  header.writeUInt16BE(666, 9)
  return Buffer.concat([header, body])
}

/** What a client asked a `PlayedMember`. */
export type Question = 'version' | 'state' | 'snapshot' | { readonly removal: Buffer }

/**
 * A member that a test plays: it listens on a port of its own, speaks plain XCom, and answers as `answer` says. A
 * question answered with null stays without an answer.
 */
export class PlayedMember {
  readonly asked: Question[] = []
  answer: (question: Question) => Buffer | null = (question) => this.usual(question)
  /** What its answers say. */
  configurations: readonly Configuration[] = []
  delivered = 50n
  group = groupId
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  /** Connections made so far. */
  connections = 0

  private constructor(server: Server) {
    this.#server = server
    server.on('connection', (socket) => this.#serve(socket))
  }

  static async start(): Promise<PlayedMember> {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return new PlayedMember(server)
  }

  get address(): string {
    const at = this.#server.address()
    return typeof at === 'object' && at !== null ? `127.0.0.1:${at.port}` : ''
  }

  get removals(): readonly Buffer[] {
    return this.asked.flatMap((question) => (typeof question === 'object' ? [question.removal] : []))
  }

  /** Clients that are connected now. */
  get open(): number {
    return this.#sockets.size
  }

  usual(question: Question): Buffer {
    if (question === 'version') return framedAs(Buffer.alloc(0), { type: 2 })
    const { delivered, group } = this
    const operation = question === 'snapshot' ? operations.snapshot : operations.clientReply
    const snapshot = question === 'snapshot' ? { snapshot: snapshotBytes(this.configurations) } : {}
    return framedAs(answerBody({ operation, ...snapshot, newest: delivered, delivered, group }))
  }

  /** Cuts every connection. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy()
  }

  async stop(): Promise<void> {
    this.cut()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  #serve(socket: Socket): void {
    this.connections += 1
    this.#sockets.add(socket)
    let heard = Buffer.alloc(0)
    socket.on('error', () => socket.destroy())
    socket.on('close', () => this.#sockets.delete(socket))
    socket.on('data', (chunk: Buffer) => {
      heard = Buffer.concat([heard, chunk])
      while (heard.length >= headerBytes && heard.length >= headerBytes + heard.readUInt32BE(4)) {
        const end = headerBytes + heard.readUInt32BE(4)
        const answer = this.#hear(heard.subarray(0, end))
        heard = heard.subarray(end)
        if (answer !== null) socket.write(answer)
      }
    })
  }

  #hear(frame: Buffer): Buffer | null {
    const question = questionIn(frame)
    this.asked.push(question)
    return this.answer(question)
  }
}

function questionIn(frame: Buffer): Question {
  const body = frame.subarray(headerBytes)
  if (body.length === 0) return 'version'
  if (body.readUInt32BE(operationAt) === operations.needBoot) return 'snapshot'
  return body.readUInt32BE(152) === cargoes.getEventHorizon ? 'state' : { removal: Buffer.from(body) }
}

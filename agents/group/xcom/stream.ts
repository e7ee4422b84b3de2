import { connect as connectPlain, isIP, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { connect as connectTls } from 'node:tls'
import { createConnection, type Connection, type ConnectionOptions } from 'mysql2'
import { hostPort } from '#common/text/host-port.ts'
import { described, RegentError } from '#common/errors/errors.ts'
import { reported, say, type Sayable } from '#common/sentence/sentence.ts'
import { hostAndPort, type HostAndPort } from './address.ts'

/** How members of a group speak to each other (`group_replication_communication_stack`), and this client to them. */
export type XcomStack =
  | {
      /** On the server’s own port, after a login with an account that has the privilege GROUP_REPLICATION_STREAM. */
      readonly kind: 'mysql'
      readonly user: string
      readonly password: string
      readonly tls: MemberTls | null
    }
  | {
      /** On a port of its own, to everybody whose address `group_replication_ip_allowlist` allows. */
      readonly kind: 'xcom'
      readonly tls: MemberTls | null
    }

interface MemberTls {
  /** PEM of whom to trust; '' for anybody: encrypted, and nobody's certificate is checked. */
  readonly ca: string
  /** The name that members’ certificates carry; null where it is not compared. */
  readonly name: string | null
}

/** `COM_SUBSCRIBE_GROUP_REPLICATION_STREAM`, as a packet of the client/server protocol. */
const subscription = Buffer.from([1, 0, 0, 0, 0x21])
const packetHeaderBytes = 4
/** `ER_SPECIFIC_ACCESS_DENIED_ERROR`: the server does not say which privilege is missing. */
const accessDenied = 1227
/** "Group Replication connection handoff is busy; retry the connection." */
const handoffBusy = 6141
/** An OK packet has seven bytes, an error a sentence. */
const mostPacketBytes = 4_096

/**
 * Whether the server is just handing another connection over to the group. The server takes one at a time, every 100
 * ms: seen where a member and several agents connect at once.
 */
export function isBusy(error: unknown): boolean {
  const cause = error instanceof RegentError ? (error.cause as { readonly errno?: number } | undefined) : undefined
  return cause?.errno === handoffBusy
}

/**
 * A stream on which a member speaks XCom. Paused: whoever takes it listens, then resumes it. Rejects with
 * `REGENT_SERVER_DOWN`, `REGENT_SERVER_ERROR`, or the signal's reason, and leaves nothing open then.
 */
export function openStream(address: string, stack: XcomStack, signal: AbortSignal): Promise<Duplex> {
  const target = hostAndPort(address)
  switch (stack.kind) {
    case 'mysql':
      return throughLogin(target, stack, signal)
    case 'xcom':
      return direct(target, stack.tls, signal)
  }
}

function direct(target: HostAndPort, tls: MemberTls | null, signal: AbortSignal): Promise<Duplex> {
  const socket = tls === null ? connectPlain({ ...target, noDelay: true }) : tlsSocket(target, tls)
  const opening = new Opening(target, signal, () => socket.destroy())
  socket.on('error', (error) => opening.fail(describeFailure(target, error)))
  socket.once(tls === null ? 'connect' : 'secureConnect', () => {
    socket.pause()
    opening.succeed(socket)
  })
  return opening.promise
}

function tlsSocket(target: HostAndPort, { ca, name }: MemberTls): Socket {
  return connectTls({
    ...target,
    ...(ca === '' ? { rejectUnauthorized: false } : { ca }),
    ...(name === null ? { checkServerIdentity: () => undefined } : {}),
    ...serverName(name ?? target.host),
  }).setNoDelay(true)
}

function serverName(name: string): { servername?: string } {
  return isIP(name) === 0 ? { servername: name } : {}
}

/**
 * mysql2 logs in, over TLS or not, and is then taken off the stream. What it listens to besides data stays: it closes
 * what it opened, and its complaints are heard here.
 */
function throughLogin(
  target: HostAndPort,
  stack: XcomStack & { readonly kind: 'mysql' },
  signal: AbortSignal,
): Promise<Duplex> {
  const socket = connectPlain({ ...target, noDelay: true })
  const login = createConnection(loginOptions(target, stack, socket))
  const opening = new Opening(target, signal, () => {
    login.destroy()
    socket.destroy()
  })
  login.on('error', (error: unknown) => opening.fail(describeFailure(target, error)))
  login.connect((error) => {
    if (error !== null) return opening.fail(describeFailure(target, error))
    const stream = streamOf(login)
    stream.removeAllListeners('data')
    stream.on('close', () => socket.destroy())
    subscribe(stream, target, opening)
  })
  return opening.promise
}

function loginOptions(
  target: HostAndPort,
  { user, password, tls }: XcomStack & { readonly kind: 'mysql' },
  socket: Socket,
): ConnectionOptions {
  const named = tls?.name ?? null
  return {
    // The socket is connected already: it is the certificate that is compared with this name, before any password is
    // sent.
    host: named ?? target.host,
    port: target.port,
    user,
    password,
    stream: () => socket,
    connectTimeout: 0,
    ...(tls !== null && {
      ssl: tls.ca === '' ? { rejectUnauthorized: false } : { ca: tls.ca, verifyIdentity: named !== null },
    }),
  }
}

/** Over TLS mysql2 speaks through a stream that it makes itself; its types do not show it. */
function streamOf(login: Connection): Duplex {
  return (login as unknown as { readonly stream: Duplex }).stream
}

/** Sends the command, and hands the stream over once the server has said OK: from then on it speaks XCom. */
function subscribe(stream: Duplex, target: HostAndPort, opening: Opening): void {
  let answer = Buffer.alloc(0)
  const read = (chunk: Buffer) => {
    answer = Buffer.concat([answer, chunk])
    const end = packetEnd(answer)
    if (end > mostPacketBytes) return opening.fail(refusal(target, say`it announces an answer of ${end} bytes`))
    if (answer.length < end) return
    stream.off('data', read)
    stream.pause()
    const packet = answer.subarray(packetHeaderBytes, end)
    const complaint = complaintOf(packet)
    if (complaint !== null) return opening.fail(refusal(target, reported(complaint), errnoOf(packet)))
    if (answer.length > end) stream.unshift(answer.subarray(end))
    opening.succeed(stream)
  }
  stream.on('data', read)
  stream.write(subscription)
}

/** Where the first packet ends, as far as that can be told. */
function packetEnd(bytes: Buffer): number {
  return bytes.length < packetHeaderBytes ? packetHeaderBytes : packetHeaderBytes + bytes.readUIntLE(0, 3)
}

/** What an error packet says; null for OK. */
function complaintOf(packet: Buffer): string | null {
  const [first] = packet
  if (first === 0) return null
  if (first !== 0xff || packet.length < 9) return 'what it answered is neither OK nor an error'
  const code = errnoOf(packet)
  const hint = code === accessDenied ? '; the account needs GROUP_REPLICATION_STREAM' : ''
  return `${packet.subarray(9).toString()} (${code})${hint}`
}

function errnoOf(packet: Buffer): number {
  return packet.length < 3 ? 0 : packet.readUInt16LE(1)
}

function refusal({ host, port }: HostAndPort, why: Sayable, errno = 0): RegentError {
  const cause = { errno }
  return new RegentError(
    'REGENT_SERVER_ERROR',
    say`${hostPort(host, port)} does not give the stream of the group: ${why}`,
    {
      cause,
    },
  )
}

function describeFailure({ host, port }: HostAndPort, error: unknown): RegentError {
  const { sqlState, errno } = error as { readonly sqlState?: string; readonly errno?: number }
  if (sqlState === undefined || sqlState === '')
    return new RegentError('REGENT_SERVER_DOWN', say`${hostPort(host, port)}: ${described(error)}`)
  return new RegentError('REGENT_SERVER_ERROR', say`${hostPort(host, port)}: ${described(error)} (${errno})`)
}

/** Ends once, one way or the other; where it fails, what was opened is closed. */
class Opening {
  readonly promise: Promise<Duplex>
  readonly #settled = Promise.withResolvers<Duplex>()
  readonly #signal: AbortSignal
  readonly #close: () => void
  readonly #abort = () => this.fail(this.#signal.reason as Error)
  #isOver = false

  constructor({ host, port }: HostAndPort, signal: AbortSignal, close: () => void) {
    this.promise = this.#settled.promise
    this.#signal = signal
    this.#close = close
    if (signal.aborted)
      this.fail(new RegentError('REGENT_SERVER_DOWN', say`${hostPort(host, port)}: given up before it began`))
    else signal.addEventListener('abort', this.#abort, { once: true })
  }

  succeed(stream: Duplex): void {
    if (this.#finish()) this.#settled.resolve(stream)
  }

  fail(error: Error): void {
    if (!this.#finish()) return
    this.#close()
    this.#settled.reject(error)
  }

  /** Whether it was not over yet. */
  #finish(): boolean {
    if (this.#isOver) return false
    this.#isOver = true
    this.#signal.removeEventListener('abort', this.#abort)
    return true
  }
}

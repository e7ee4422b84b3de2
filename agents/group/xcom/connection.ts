import type { Duplex } from 'node:stream'
import type { Timers } from '#common/ports/ports.ts'
import { described, RegentError } from '#common/errors/errors.ts'
import { say, type Sayable } from '#common/sentence/sentence.ts'
import { decodeAnswer } from './decode.ts'
import { encodeRemoval, encodeSnapshotQuestion, encodeStateQuestion, encodeVersionRequest } from './encode.ts'
import { FrameReader, type Frame } from './frames.ts'
import { protocolVersion, type Answer, type ClientReply, type GroupSnapshot } from './messages.ts'
import type { OpenLine, XcomLine } from './line.ts'
import type { MemberIdentity, Synode } from './messages.ts'
import { isBusy, openStream, type XcomStack } from './stream.ts'

/**
 * A connection that was sent so many bytes that nobody asked for is given up: a snapshot is followed by the member's
 * whole cache.
 */
const mostSkippedBytes = 64 * 1_048_576

/** A server that is busy with another connection is tried again after so long. */
const busyMs = 30

interface Question {
  readonly settle: (answer: ClientReply | GroupSnapshot | RegentError) => void
}

/**
 * A connection to one member. Answers come in the order of the questions, so a question that is not answered within its
 * deadline ends the connection: the next answer would be taken for the answer to that question. Only a caller that
 * waits for an answer hears of an error, an unexpected message or the end.
 */
export class XcomConnection implements XcomLine {
  readonly address: string
  readonly #stream: Duplex
  readonly #timers: Timers
  readonly #reader = new FrameReader()
  readonly #questions: Question[] = []
  readonly #closing = Promise.withResolvers<RegentError>()
  #negotiated: ((error: RegentError | null) => void) | null = null
  #ended: RegentError | null = null

  private constructor(address: string, stream: Duplex, timers: Timers) {
    this.address = address
    this.#stream = stream
    this.#timers = timers
    stream.on('data', (chunk: Buffer) => this.#read(chunk))
    stream.on('error', (error: unknown) => this.#end(this.#down(described(error))))
    stream.on('close', () => this.#end(this.#down(say`closed by the member`)))
    stream.on('end', () => this.#end(this.#down(say`closed by the member`)))
    stream.resume()
  }

  /** Connects, and agrees on the version of the protocol. Rejects after `deadlineMs` at the latest. */
  static async open(address: string, stack: XcomStack, timers: Timers, deadlineMs: number): Promise<XcomConnection> {
    const giveUp = new AbortController()
    const late = () => new RegentError('REGENT_SERVER_TIMEOUT', say`${address}: no connection within ${deadlineMs} ms`)
    const timer = timers.after(deadlineMs, () => giveUp.abort(late()))
    try {
      const stream = await openWhenFree(address, stack, timers, giveUp.signal)
      const connection = new XcomConnection(address, stream, timers)
      giveUp.signal.addEventListener('abort', () => connection.#end(giveUp.signal.reason as RegentError))
      await connection.#negotiate()
      return connection
    } finally {
      timer.cancel()
    }
  }

  get isOpen(): boolean {
    return this.#ended === null
  }

  /** Resolves to why it ended; never rejects. */
  get closed(): Promise<RegentError> {
    return this.#closing.promise
  }

  /** Which group, and how far this member is. */
  async state(deadlineMs: number): Promise<ClientReply> {
    return this.#reply(await this.#ask(encodeStateQuestion(), deadlineMs))
  }

  /**
   * The configurations that this member knows. The member sends its cache afterwards: close the connection soon. Where
   * the member is the first of those alive, it tells the group its view of the members at once.
   * @param delivered what this member has just said
   */
  async snapshot(delivered: Synode, deadlineMs: number): Promise<GroupSnapshot> {
    const answer = await this.#ask(encodeSnapshotQuestion(delivered), deadlineMs)
    if (answer.kind === 'snapshot') return answer
    throw this.#end(this.#unreadable(say`a question for a snapshot was answered otherwise`))
  }

  async remove(group: number, victim: MemberIdentity, deadlineMs: number): Promise<Answer> {
    return this.#reply(await this.#ask(encodeRemoval(group, victim), deadlineMs)).answer
  }

  close(): void {
    this.#end(new RegentError('REGENT_SERVER_DOWN', say`${this.address}: this connection was closed`))
  }

  #negotiate(): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#ended !== null) return reject(this.#ended)
      this.#negotiated = (error) => (error === null ? resolve() : reject(error))
      this.#stream.write(encodeVersionRequest())
    })
  }

  #ask(message: Buffer, deadlineMs: number): Promise<ClientReply | GroupSnapshot> {
    return new Promise((resolve, reject) => {
      if (this.#ended !== null) return reject(this.#ended)
      const late = () =>
        new RegentError('REGENT_SERVER_TIMEOUT', say`${this.address}: no answer within ${deadlineMs} ms`)
      const timer = this.#timers.after(deadlineMs, () => this.#end(late()))
      const settle = (answer: ClientReply | GroupSnapshot | RegentError) => {
        timer.cancel()
        if (answer instanceof RegentError) reject(answer)
        else resolve(answer)
      }
      this.#questions.push({ settle })
      this.#stream.write(message)
    })
  }

  #reply(answer: ClientReply | GroupSnapshot): ClientReply {
    if (answer.kind === 'reply') return answer
    throw this.#end(this.#unreadable(say`a client’s question was answered with a snapshot`))
  }

  #read(chunk: Buffer): void {
    if (this.#ended !== null) return
    try {
      for (const frame of this.#reader.push(chunk)) this.#hear(frame)
      if (this.#reader.skipped > mostSkippedBytes) throw this.#unreadable(say`it sends what nobody asked for`)
    } catch (error) {
      this.#end(error instanceof RegentError ? this.#named(error) : this.#unreadable(described(error)))
    }
  }

  #hear(frame: Frame): void {
    if (frame.kind === 'version') return this.#agree(frame.version)
    const answer = decodeAnswer(frame.body)
    const question = this.#questions.shift()
    if (question === undefined) throw this.#unreadable(say`an answer came to no question`)
    question.settle(answer)
  }

  /** What waits for the negotiation is rejected by the end of the connection, here as everywhere. */
  #agree(version: number): void {
    const agreed = this.#negotiated
    if (agreed === null) throw this.#unreadable(say`it speaks of versions again`)
    if (version !== protocolVersion)
      throw this.#unreadable(
        say`it speaks version ${version} of XCom’s protocol, Regent speaks ${protocolVersion} only`,
      )
    this.#negotiated = null
    agreed(null)
  }

  /** Ends the connection once, and with it every wait. Returns why. */
  #end(error: RegentError): RegentError {
    if (this.#ended !== null) return this.#ended
    this.#ended = error
    this.#stream.destroy()
    this.#negotiated?.(error)
    for (const question of this.#questions.splice(0)) question.settle(error)
    this.#closing.resolve(error)
    return error
  }

  #down(why: Sayable): RegentError {
    return new RegentError('REGENT_SERVER_DOWN', say`${this.address}: ${why}`)
  }

  #unreadable(why: Sayable): RegentError {
    return new RegentError('REGENT_GROUP_PROTOCOL', say`${this.address}: ${why}`)
  }

  #named(error: RegentError): RegentError {
    return error.message.startsWith(this.address)
      ? error
      : new RegentError(error.code, say`${this.address}: ${described(error)}`)
  }
}

/** Opens lines through the stack as that is configured at each moment: passwords and certificates change. */
export function linesThrough(stack: () => XcomStack, timers: Timers): OpenLine {
  return (address, deadlineMs) => XcomConnection.open(address, stack(), timers, deadlineMs)
}

/** Rejects as `openStream` does. */
async function openWhenFree(address: string, stack: XcomStack, timers: Timers, signal: AbortSignal): Promise<Duplex> {
  for (;;) {
    try {
      return await openStream(address, stack, signal)
    } catch (error) {
      if (!isBusy(error)) throw error
      await timers.sleep(busyMs, signal)
    }
  }
}

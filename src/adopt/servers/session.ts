import { connect } from 'node:net'
import { createConnection, type Connection } from 'mysql2'
import { addressText, type HostAddress } from '../host-address.ts'
import { failureOf, LookFailure } from './failure.ts'
import { say } from '#common/sentence/sentence.ts'

export interface Login {
  readonly user: string
  readonly password: string
  /** PEM of the authority that signed the server's certificate; undefined: no TLS. */
  readonly ca: string | undefined
}

export type Row = Readonly<Record<string, unknown>>

/** A session at a server that Regent only looks at: statements that read, and none that changes anything. */
export class ServerSession {
  readonly #connection: Connection
  readonly #address: HostAddress
  #isOpen = true

  private constructor(connection: Connection, address: HostAddress) {
    this.#connection = connection
    this.#address = address
    connection.on('error', () => (this.#isOpen = false))
    connection.on('end', () => (this.#isOpen = false))
  }

  /** Rejects with a `LookFailure`. */
  static async open(address: HostAddress, login: Login, deadlineMs: number): Promise<ServerSession> {
    const connection = createConnection({
      host: address.host,
      port: address.port,
      user: login.user,
      password: login.password,
      // Room for these is made at once, half a megabyte for each session by default; none is prepared.
      maxPreparedStatements: 1,
      multipleStatements: true,
      supportBigNumbers: true,
      bigNumberStrings: true,
      dateStrings: true,
      ...(login.ca === undefined ? {} : { ssl: { ca: login.ca } }),
    })
    const session = new ServerSession(connection, address)
    await session.#within(deadlineMs, (settle) => connection.connect((error) => settle(error, [])))
    return session
  }

  get isOpen(): boolean {
    return this.#isOpen
  }

  /** Rows of one statement. Rejects with a `LookFailure`; after a deadline the session is closed. */
  async query(statement: string, deadlineMs: number): Promise<readonly Row[]> {
    return (await this.#within(deadlineMs, (settle) => {
      this.#connection.query(statement, (error, rows) => settle(error, rows))
    })) as readonly Row[]
  }

  /** Rows of each of several statements, sent together. */
  async queryAll(statements: readonly string[], deadlineMs: number): Promise<readonly (readonly Row[])[]> {
    const answer = await this.query(statements.join('; '), deadlineMs)
    return statements.length === 1 ? [answer] : (answer as unknown as readonly (readonly Row[])[])
  }

  close(): void {
    this.#isOpen = false
    this.#connection.destroy()
  }

  #within(deadlineMs: number, begin: (settle: (error: unknown, rows: unknown) => void) => void): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.close()
        reject(new LookFailure('silent', say`${addressText(this.#address)} did not answer within ${deadlineMs} ms`))
      }, deadlineMs)
      begin((error, rows) => {
        clearTimeout(timer)
        if (error === null) return resolve(rows)
        const failure = failureOf(error)
        // A refused statement leaves the session as it was.
        if (failure.reach !== 'lockedOut') this.close()
        reject(failure)
      })
    })
  }
}

/**
 * What listens there where that is no MySQL, in words; '' where it says nothing by itself. A MySQL begins with a packet
 * of number 0 whose first byte is the protocol 10, or an error.
 */
export function whyNoMysql({ host, port }: HostAddress, deadlineMs: number): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({ host, port })
    const end = (bytes: Uint8Array = Buffer.alloc(0)): void => {
      clearTimeout(timer)
      socket.destroy()
      const words = JSON.stringify(Buffer.from(bytes).toString('latin1').slice(0, 40))
      resolve(bytes.length === 0 || isGreeting(bytes) ? '' : `what listens there is no MySQL, it begins with ${words}`)
    }
    const timer = setTimeout(end, deadlineMs)
    socket.once('error', () => end())
    socket.once('close', () => end())
    socket.once('data', end)
  })
}

function isGreeting(bytes: Uint8Array): boolean {
  return bytes.length > 4 && bytes[3] === 0 && (bytes[4] === 10 || bytes[4] === 255)
}

import { connect, type Socket } from 'node:net'
import { createConnection, type Connection, type ConnectionOptions } from 'mysql2'
import { hostPort } from '#common/text/host-port.ts'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { agentHost } from '#agents/instance/accounts.ts'
import type { ServerIdentity } from '#agents/instance/config.ts'
import { startedAtIn, startStatement } from './started-at.ts'
import type { Row } from './statements.ts'
import { describeFailure, errnoOf, isTransport } from './failure.ts'

/**
 * A way into the server. Behind a host and port may be another server, so that way tells whom to expect; a socket lies
 * in the instance’s own folder.
 */
export type SqlTarget = (
  { readonly socketPath: string } | (HostTarget & { readonly ownSocket: string }) | (HostTarget & AdoptedTarget)
) & {
  readonly user: string
  /** Asked for at each login where somebody else may change it. */
  readonly password: string | (() => Promise<string>)
  /** Takes several statements at once; only where none of them holds anything that was not written here. */
  readonly several?: boolean
}

export interface AdoptedTarget {
  /** Null where nobody knows yet what is to be there. */
  readonly identity: ServerIdentity | null
  /** The start of that server to which a session may belong; any start unless given. */
  readonly ownStart?: { allows(startedAt: number): boolean }
}

interface HostTarget {
  readonly host: string
  readonly port: number
  readonly overTls: boolean
  /** PEM of the authority that the server's certificate must be signed by, asked for at each login. Absent: none. */
  readonly authority?: (() => Promise<string>) | undefined
}

/** What is read anew for each login. */
interface Secrets {
  readonly password: string
  readonly authority: string | undefined
}

/**
 * `ER_CON_COUNT_ERROR`, `ER_TOO_MANY_USER_CONNECTIONS`: the client interface is full, or `max_user_connections` says
 * so. The administrative interface counts neither (`check_for_max_user_connections` of the server).
 */
export const tooManyConnections: ReadonlySet<number> = new Set([1040, 1203])

/** By this a session says that its agent manages an adopted server: `performance_schema.session_connect_attrs`. */
export const keeperAttribute = 'regent'

/** Every statement of an agent fits in. */
const packetBytes = 2_097_152

/**
 * A connection of the agent to its server. The connection keeps no deadlines, `SqlPool` does; but whatever waits on a
 * connection ends with it.
 */
export class SqlConnection {
  readonly #socket: Socket
  readonly #connection: Connection
  /** Rejects what waits. */
  #waiting: ((error: RegentError) => void) | null = null
  #isOpen = true

  private constructor(target: SqlTarget, secrets: Secrets) {
    this.#socket =
      'socketPath' in target
        ? connect(target.socketPath)
        : connect({
            host: target.host,
            port: target.port,
            noDelay: true,
            ...('ownSocket' in target ? { localAddress: agentHost } : {}),
          })
    this.#connection = createConnection(optionsFor(target, secrets, this.#socket))
    this.#connection.on('error', (error: unknown) => this.#fail(describeFailure('connection', error)))
    this.#connection.on('end', () =>
      this.#fail(new RegentError('REGENT_SERVER_DOWN', say`mysqld closed the connection`)),
    )
  }

  /**
   * Connects to the first target that lets the agent in, and runs `init`. The next one is tried when nobody listens or
   * connections are exhausted. `began` is told of each attempt, so that a caller whose patience ends can end it.
   */
  static async open(
    targets: readonly SqlTarget[],
    init: string,
    began: (attempt: SqlConnection) => void,
  ): Promise<SqlConnection> {
    let last: unknown
    for (const target of targets) {
      const connection = new SqlConnection(target, await secretsOf(target))
      began(connection)
      try {
        await connection.#handshake()
        await connection.#meet(target)
        await connection.query(init)
        return connection
      } catch (error) {
        connection.destroy()
        last = error
        const canGoOn =
          error instanceof RegentError &&
          (error.code === 'REGENT_SERVER_DOWN' || tooManyConnections.has(errnoOf(error)))
        if (!canGoOn) break
      }
    }
    throw last
  }

  get isOpen(): boolean {
    return this.#isOpen
  }

  /** The server's id of this session, for KILL. */
  get id(): number {
    return this.#connection.threadId ?? 0
  }

  /**
   * Rows of one statement, none where it has no result. Statements run one at a time. Rejects with
   * `REGENT_SERVER_ERROR` or `REGENT_SERVER_DOWN`.
   */
  query(statement: string): Promise<readonly Row[]> {
    return this.#wait((settle) => {
      this.#connection.query(statement, (error, rows) => {
        if (error !== null && isTransport(error)) this.destroy()
        settle(
          error === null ? null : describeFailure(statement, error),
          Array.isArray(rows) ? (rows as unknown as Row[]) : [],
        )
      })
    })
  }

  /** Closes at once; what waits is rejected with `REGENT_SERVER_DOWN`. */
  destroy(): void {
    this.#fail(new RegentError('REGENT_SERVER_DOWN', say`the connection to mysqld was closed`))
    this.#connection.destroy()
    this.#socket.destroy()
  }

  async #handshake(): Promise<void> {
    await this.#wait((settle) =>
      this.#connection.connect((error) => settle(error === null ? null : describeFailure('connecting', error), [])),
    )
  }

  /** What is asked before the session is as the agent wants its sessions must not be bound by defaults of all. */
  async #meet(target: SqlTarget): Promise<void> {
    await this.query('SET SESSION sql_select_limit = 18446744073709551615, max_execution_time = 0')
    const [row] = await this.query(
      'SELECT @@global.socket AS socket, @@global.server_uuid AS uuid, @@max_allowed_packet AS bytes',
    )
    if ('ownSocket' in target) requireOwn(target, String(row?.['socket']))
    if ('identity' in target) await this.#requireAdopted(target, String(row?.['uuid']))
    await this.#requireRoom(Number(row?.['bytes']))
  }

  async #requireAdopted(target: HostTarget & AdoptedTarget, uuid: string): Promise<void> {
    requireAdopted(target, uuid)
    const { host, port, ownStart } = target
    if (ownStart?.allows(startedAtIn((await this.query(startStatement))[0])) === false)
      throw new RegentError(
        'REGENT_SERVER_DOWN',
        say`mysqld at ${hostPort(host, port)} is another start than the agent's own; nothing is changed there before the agent takes it`,
      )
  }

  /**
   * `max_allowed_packet` is taken from the default of all, and a session cannot change its own. Where it is too small
   * for the agent's statements, the default is put right with a short one, and the next session is as it should be.
   */
  async #requireRoom(bytes: number): Promise<void> {
    if (bytes >= packetBytes) return
    await this.query(`SET GLOBAL max_allowed_packet = ${packetBytes}`)
    throw new RegentError(
      'REGENT_SERVER_DOWN',
      say`max_allowed_packet was ${bytes} bytes, too few for the agent's statements; it is ${packetBytes} now, for the next session`,
    )
  }

  #wait(begin: (settle: (error: RegentError | null, rows: readonly Row[]) => void) => void): Promise<readonly Row[]> {
    return new Promise((resolve, reject) => {
      if (!this.#isOpen) return reject(new RegentError('REGENT_SERVER_DOWN', say`the connection to mysqld is closed`))
      this.#waiting = reject
      begin((error, rows) => {
        this.#waiting = null
        if (error) reject(error)
        else resolve(rows)
      })
    })
  }

  #fail(error: RegentError): void {
    this.#isOpen = false
    this.#waiting?.(error)
    this.#waiting = null
  }
}

/**
 * A stranger’s password is another one, but not that of a server in a copied folder. Which folder a server serves its
 * socket tells.
 */
function requireOwn(
  { host, port, ownSocket }: { readonly host: string; readonly port: number; readonly ownSocket: string },
  socket: string,
): void {
  if (socket !== ownSocket)
    throw new RegentError(
      'REGENT_SERVER_DOWN',
      say`another mysqld answers at ${hostPort(host, port)}: its socket is ${socket}, that of this instance ${ownSocket}; nothing is read there or changed`,
    )
}

/** Behind an address of a network may be anything one day. */
function requireAdopted({ host, port, identity }: HostTarget & AdoptedTarget, uuid: string): void {
  if (identity?.allows(uuid) === false)
    throw new RegentError(
      'REGENT_SERVER_DOWN',
      say`another server answers at ${hostPort(host, port)}: its server_uuid is ${uuid}, that of the adopted one ${identity.uuids.at(-1)}; nothing is changed there`,
    )
}

async function secretsOf(target: SqlTarget): Promise<Secrets> {
  const { password } = target
  return {
    password: typeof password === 'string' ? password : await password(),
    authority: 'authority' in target ? await target.authority?.() : undefined,
  }
}

/**
 * `socketPath` is told as well: over it the login may send the password as it is. A certificate is compared where an
 * authority is known: a near login goes from this machine to this machine. No name is compared: a server's own
 * certificate (`auto_generate_certs`) has none.
 */
function optionsFor(target: SqlTarget, { password, authority }: Secrets, socket: Socket): ConnectionOptions {
  const { user, several = false } = target
  const where = 'socketPath' in target ? { socketPath: target.socketPath } : { host: target.host, port: target.port }
  const certificate = authority === undefined ? { rejectUnauthorized: false } : { ca: authority }
  const ssl = 'overTls' in target && target.overTls ? { ssl: certificate } : {}
  const isKeeper = 'identity' in target && target.identity !== null
  return {
    ...where,
    ...ssl,
    ...(isKeeper && { connectAttributes: { [keeperAttribute]: 'agent' } }),
    user,
    password,
    stream: () => socket,
    charset: 'utf8mb4',
    multipleStatements: several,
    supportBigNumbers: true,
    dateStrings: true,
    connectTimeout: 0,
    // Nothing is prepared; the library would keep room for 16,000 statements, 0.5 MB of each connection.
    maxPreparedStatements: 1,
  }
}

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Connection } from 'mysql2/promise'
import { createMysqldProcess } from '#agents/mysqld/process.ts'
import type { AgentConfig } from '#agents/instance/config.ts'
import { anAgentConfig } from '#agents/testing.ts'
import type { ProcessPort } from '#agents/ports/process.ts'
import { replicationUser, type ServerPort } from '#agents/ports/server.ts'
import { createSqlServer } from '#agents/sql/server.ts'
import { passwordFor } from '#common/mysql/account-password.ts'
import { realWorld } from '#common/ports/real-world.ts'
import { findMysql } from '#local/packages/mysql-binaries.ts'
import { bareSecret } from './prepared-folders/secrets.ts'
import { ownAddress } from './own-address.ts'
import { openSession } from './sql-session.ts'
import { patienceMs } from './patience.ts'

export const secret = bareSecret

/** One mysqld with what an agent has to move it, and no agent: the test decides. */
export class BareInstance {
  readonly config: AgentConfig
  readonly process: ProcessPort
  readonly server: ServerPort
  readonly #folder: string
  readonly #release: () => void
  readonly #sessions: Connection[] = []

  private constructor(folder: string, config: AgentConfig, release: () => void) {
    this.#folder = folder
    this.#release = release
    this.config = config
    this.process = createMysqldProcess(config, realWorld)
    this.server = this.anotherServerPort()
  }

  /** On an address of its own, unless `more` names one. */
  static async create(
    instance: string,
    serverSettings: Readonly<Record<string, string>> = {},
    more: Partial<AgentConfig> = {},
  ): Promise<BareInstance> {
    const { host, release } =
      more.host === undefined ? await ownAddress() : { host: more.host, release: () => undefined }
    const { mysqld, mysqlbinlog, pluginDir, shareDir } = await findMysql()
    const folder = await mkdtemp(join(tmpdir(), 'regent-bare-'))
    const [volume, accountSecretFile] = [join(folder, 'volume'), join(folder, 'secret')]
    await mkdir(volume)
    await writeFile(accountSecretFile, `${secret}\n`, { mode: 0o600 })
    const own = {
      cluster: instance.replace(/-\d+$/, ''),
      instance,
      host,
      mysqld,
      mysqlbinlog,
      pluginDir,
      shareDir,
      volume,
      tokenFile: '',
      accountSecretFile,
      serverSettings,
    }
    return new BareInstance(folder, anAgentConfig({ ...own, ...more }), release)
  }

  /** As a second agent of the same instance would have it. */
  anotherServerPort(): ServerPort {
    return createSqlServer(this.config, { world: realWorld, secret, queryDeadlineMs: 800 })
  }

  get name(): string {
    return this.config.instance
  }

  /** How another instance reaches this one. */
  sourceFor(replica: BareInstance): { host: string; port: number; user: string; password: string } {
    const user = replicationUser(replica.name)
    return { host: this.config.host, port: this.config.port, user, password: passwordFor(secret, user) }
  }

  /** Starts mysqld and waits until it answers. */
  async start(): Promise<void> {
    await this.process.start()
    await until(
      async () =>
        this.process.state === 'running' &&
        (await this.server.readState().then(
          () => true,
          () => false,
        )),
      `mysqld of ${this.name} answers`,
    )
  }

  async session(user: 'client' | 'admin' | 'regent', database?: string): Promise<Connection> {
    const session = await openSession(
      {
        host: this.config.host,
        port: this.config.port,
        user,
        password: passwordFor(secret, user),
        ...(database === undefined ? {} : { database }),
      },
      10_000,
    )
    this.#sessions.push(session)
    return session
  }

  async remove(): Promise<void> {
    for (const session of this.#sessions) session.destroy()
    this.server.disconnect()
    await this.process.kill()
    this.#release()
    // What is noted of its last start may be written at this moment: Node looks again where a folder is not empty.
    await rm(this.#folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 })
  }
}

/** Looks every 5 ms; fails, naming what was waited for, after `waitMs`. */
export async function until(look: () => boolean | Promise<boolean>, what: string, waitMs = patienceMs): Promise<void> {
  const end = performance.now() + waitMs
  while (!(await look())) {
    if (performance.now() > end) throw new Error(`not within ${waitMs} ms: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

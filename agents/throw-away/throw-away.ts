import { randomBytes } from 'node:crypto'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { ownSession } from '#failover/settings/own-session.ts'
import { RegentError } from '#common/errors/errors.ts'
import { reported, say, type Sayable } from '#common/sentence/sentence.ts'
import type { World } from '#common/ports/ports.ts'
import { identityNow, isAlive, type ProcessIdentity } from '#common/process/process-stat.ts'
import { account, literal } from '../instance/accounts.ts'
import type { AgentConfig } from '../instance/config.ts'
import { volumeLayout } from '../instance/volume-layout.ts'
import { lastErrorsIn, startThrowAway } from '../mysqld/command.ts'
import { Launcher } from '../mysqld/launcher.ts'
import { lacksAioSlots } from '../mysqld/machine-needs.ts'
import { findByArgument } from '../mysqld/pid-file.ts'
import { sentenceOf, type Ending, type RunningProgram } from '../mysqld/running-program.ts'
import type { AnsweredRow, HowToRun, ThrowAwayPort, ThrowAwayServer } from '../ports/throw-away.ts'
import { SqlPool } from '../sql/connections/pool.ts'
import { throwAwayLayout, type ThrowAwayLayout } from './layout.ts'
import { throwAwayConfig } from './options.ts'

/** By which the agent gets in, on that server alone; no account of the data is known or needed. */
const user = 'regent_throw_away'
/** InnoDB writes what it holds before it ends. */
const shutdownMs = 600_000
const goneMs = 60_000
const lookMs = 100

type Time = Pick<World, 'clock' | 'timers'>

export function throwAwayServers(config: AgentConfig, time: Time): ThrowAwayPort {
  const layout = throwAwayLayout(config.volume)
  const launcher = config.launcherDir === '' ? null : new Launcher(config.launcherDir, time)
  return {
    async start(folder, { signal, spares }) {
      await endLeftover(layout, time)
      const password = randomBytes(24).toString('hex')
      await mkdir(volumeLayout(config.volume).runDir, { recursive: true, mode: 0o700 })
      await writeFile(layout.accountsFile, accountsFor(password), { mode: 0o600, flag: 'wx' })
      await writeFile(layout.serverConfig, throwAwayConfig(config, folder, layout.accountsFile), { mode: 0o600 })
      const options = (await lacksAioSlots()) ? ['--innodb-use-native-aio=OFF'] : []
      const program = await startThrowAway(config, launcher, { defaultsFile: layout.serverConfig, options, spares })
      const server = new ThrowAway(program, { layout, password, time, how: { signal, spares } })
      await server.untilAnswers()
      return server
    },
    endLeftover: () => endLeftover(layout, time),
  }
}

/** Statements that make the account, one a line. */
function accountsFor(password: string): string {
  const name = account(user, 'localhost')
  const statements = [
    `DROP USER IF EXISTS ${name}`,
    `CREATE USER ${name} IDENTIFIED WITH caching_sha2_password BY ${literal(password)}`,
    `GRANT ALL ON *.* TO ${name}`,
  ]
  return statements.map((statement) => `${statement};\n`).join('')
}

async function endLeftover(layout: ThrowAwayLayout, time: Time): Promise<void> {
  const found = await findByArgument(`--defaults-file=${layout.serverConfig}`)
  if (found !== undefined) await killed(found, time)
  await removeFiles(layout)
}

async function removeFiles({ socket, ...files }: ThrowAwayLayout): Promise<void> {
  for (const path of [...Object.values(files), socket, `${socket}.lock`]) await rm(path, { force: true })
}

async function killed(identity: ProcessIdentity, { clock, timers }: Time): Promise<void> {
  if (isAlive(identity)) process.kill(identity.pid, 'SIGKILL')
  const until = clock.monotonicMs() + goneMs
  while (isAlive(identity)) {
    if (clock.monotonicMs() > until)
      throw new RegentError(
        'REGENT_TIMED_OUT',
        say`throw-away mysqld ${identity.pid} was killed and is not gone after ${goneMs / 1_000} s`,
      )
    await timers.sleep(5)
  }
}

interface Surroundings {
  readonly layout: ThrowAwayLayout
  readonly password: string
  readonly time: Time
  readonly how: HowToRun
}

class ThrowAway implements ThrowAwayServer {
  readonly #identity: ProcessIdentity
  readonly #given: Surroundings
  readonly #pool: SqlPool
  readonly #abort = (): void => void this.kill().catch(() => undefined)
  #ending: Ending | null = null

  constructor({ pid, ended }: RunningProgram, given: Surroundings) {
    const { layout, password, time, how } = given
    this.#identity = identityNow(pid)
    this.#given = given
    this.#pool = new SqlPool([{ socketPath: layout.socket, user, password }], ownSession, time)
    void ended.then((ending) => (this.#ending = ending))
    how.signal.addEventListener('abort', this.#abort, { once: true })
    if (how.signal.aborted) this.#abort()
  }

  /** Recovery of a large copy takes minutes: waited for as long as the server is there. */
  async untilAnswers(): Promise<void> {
    const { layout, time } = this.#given
    try {
      for (;;) {
        if (this.#ending !== null) throw await this.#whyEnded(say`before it answered`)
        const answers = await this.#pool.query('DO 0', { deadlineMs: 5_000, after: 'abandon' }).then(
          () => true,
          () => false,
        )
        if (answers) break
        // Nobody tells how it ended where the launcher has gone with it.
        if (!isAlive(this.#identity)) throw await this.#whyEnded(say`before it answered`, this.#gone())
        await time.timers.sleep(lookMs)
      }
    } catch (error) {
      await this.kill()
      throw error
    } finally {
      // The password is in it, and the server has read that before it let anybody in.
      await rm(layout.accountsFile, { force: true })
    }
  }

  #gone(): RegentError {
    return new RegentError('REGENT_SERVER_DOWN', say`the throw-away mysqld is gone, and nobody saw how it ended`)
  }

  async query(statement: string): Promise<readonly AnsweredRow[]> {
    this.#given.how.signal.throwIfAborted()
    try {
      return await this.#pool.query(statement, { deadlineMs: Infinity, after: 'abandon' })
    } catch (error) {
      this.#given.how.signal.throwIfAborted()
      if (error instanceof RegentError && error.code === 'REGENT_SERVER_DOWN')
        throw await this.#whyEnded(say`while it was asked`, error)
      throw error
    }
  }

  async shutDown(): Promise<void> {
    await this.query(`DROP USER ${account(user, 'localhost')}`)
    await this.query('SHUTDOWN')
    this.#pool.disconnect()
    const ending = await this.#within(shutdownMs)
    if (ending?.status === 0) return this.#cleanUp()
    const why = ending === null ? say`did not end within ${shutdownMs / 1_000} s` : sentenceOf(ending)
    const errors = await lastErrorsIn(this.#given.layout.errorLog)
    await this.kill()
    throw new RegentError(
      'REGENT_SERVER_ERROR',
      say`the throw-away mysqld ${why}${errors === '' ? '' : say`: ${reported(errors)}`}`,
    )
  }

  async kill(): Promise<void> {
    this.#pool.disconnect()
    if (this.#ending === null) await killed(this.#identity, this.#given.time)
    await this.#cleanUp()
  }

  async #cleanUp(): Promise<void> {
    this.#given.how.signal.removeEventListener('abort', this.#abort)
    await removeFiles(this.#given.layout)
  }

  /** Null where it has not ended in time. */
  async #within(ms: number): Promise<Ending | null> {
    const { clock, timers } = this.#given.time
    const until = clock.monotonicMs() + ms
    while (this.#ending === null && clock.monotonicMs() < until) await timers.sleep(lookMs)
    return this.#ending
  }

  /** Where the connection broke, the server ends within a moment. */
  async #whyEnded(when: Sayable, cause?: RegentError): Promise<RegentError> {
    const ending = await this.#within(cause === undefined ? 0 : 5_000)
    if (ending === null)
      return cause ?? new RegentError('REGENT_SERVER_DOWN', say`the throw-away mysqld closed the connection`)
    const errors = await lastErrorsIn(this.#given.layout.errorLog)
    return new RegentError(
      'REGENT_SERVER_DOWN',
      say`the throw-away mysqld ${sentenceOf(ending)} ${when}${errors === '' ? '' : say`: ${reported(errors)}`}`,
      { cause },
    )
  }
}

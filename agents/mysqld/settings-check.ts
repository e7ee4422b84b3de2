import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { codeOf, describeError, RegentError } from '#common/errors/errors.ts'
import { reported, say } from '#common/sentence/sentence.ts'
import type { AgentConfig } from '../instance/config.ts'
import { contradictsData, readGoodSettings } from './good-settings.ts'
import type { Launcher } from './launcher.ts'
import { aborting } from './command.ts'
import { renderServerConfig } from './my-cnf.ts'
import type { VolumeLayout } from '../instance/volume-layout.ts'

/** The answer takes some tenths of a second; on a machine that swaps, longer. */
const answerMs = 60_000

/** How a program ended, and what it printed. */
export interface Answer {
  readonly status: number | null
  readonly output: string
}

/**
 * What mysqld says of settings that it refuses. `words` is '' where it refuses none; it takes them for sure only where
 * `taken`.
 */
export interface SettingsAnswer {
  readonly taken: boolean
  readonly words: string
}

/**
 * Asks a mysqld whether it takes the configuration in `file`. `--validate-config` (since 8.0.16) reads options, loads
 * the plugins named there, opens neither data nor ports, and ends with status 1 after the first unknown variable.
 * Values out of range it puts right by itself, with a warning. A mysqld that ends by a signal, or without a word, said
 * nothing of its settings: its start will tell.
 */
export async function askForSettings(
  mysqld: readonly string[],
  file: string,
  run: (command: readonly string[]) => Promise<Answer>,
): Promise<SettingsAnswer> {
  const asRoot = process.getuid?.() === 0 ? ['--user=root'] : []
  const { status, output } = await run([
    ...mysqld,
    `--defaults-file=${file}`,
    ...asRoot,
    '--validate-config',
    '--log-error-verbosity=1',
  ])
  return { taken: status === 0, words: status === null || status === 0 ? '' : wordsIn(output) }
}

function wordsIn(output: string): string {
  const errors = output.split('\n').flatMap((line) => {
    const [, code, text = ''] = /\[ERROR\] \[(MY-\d+)\] \[\w+\] (.*)$/.exec(line) ?? []
    return code === undefined || code === aborting ? [] : [text.replace(/^\S*mysqld: /, '').replace(/\.$/, '')]
  })
  return errors.slice(0, 3).join('; ').slice(0, 400)
}

/** Runs a program of this machine. A program that cannot be started gives no status, and says nothing. */
export function runHere([program = '', ...args]: readonly string[]): Promise<Answer> {
  return new Promise((resolve) => {
    execFile(
      program,
      args,
      { timeout: answerMs, killSignal: 'SIGKILL', encoding: 'utf8', cwd: '/' },
      (error, stdout, stderr) => {
        const status = error === null ? 0 : typeof error.code === 'number' ? error.code : null
        resolve({ status, output: stdout + stderr })
      },
    )
  })
}

/**
 * Whether this instance's mysqld takes its settings. mysqld is asked once in an agent's life, and not at all where this
 * very program took these very settings before, so that a server that died starts again without a question.
 */
export class SettingsCheck {
  readonly #config: AgentConfig
  readonly #layout: VolumeLayout
  readonly #run: (command: readonly string[]) => Promise<Answer>
  #asked: Promise<void> | undefined
  #refused = ''

  constructor(config: AgentConfig, layout: VolumeLayout, launcher: Launcher | null) {
    this.#config = config
    this.#layout = layout
    this.#run = launcher === null ? runHere : (command) => launcher.answerOf(command)
  }

  /** The settings that it refuses, in its own words; '' where it refuses none, or was not asked yet. */
  get refused(): string {
    return this.#refused
  }

  /**
   * @param version of the program in the mysql container; undefined for one of this machine. Rejects with
   * `REGENT_LAUNCHER_SILENT`.
   */
  async ask(version: string | undefined): Promise<void> {
    this.#asked ??= this.#askOnce(version)
    try {
      await this.#asked
    } catch (error) {
      this.#asked = undefined
      throw error
    }
  }

  /** Rejects with `REGENT_SETTINGS_REFUSED`: a server that would end at once is not started. */
  async require(version: string | undefined): Promise<void> {
    await this.ask(version)
    if (this.#refused !== '')
      throw new RegentError(
        'REGENT_SETTINGS_REFUSED',
        say`mysqld is not started, since it refuses its settings: ${reported(this.#refused)}`,
      )
  }

  async #askOnce(version: string | undefined): Promise<void> {
    const { settingsAccepted, serverConfig, runDir, agentDir } = this.#layout
    const text = this.#rendered()
    if (text === undefined) return
    this.#refused = await this.#contradiction()
    if (this.#refused !== '') return
    const key = createHash('sha256')
      .update(`${await this.#identity(version)}\n${text}`)
      .digest('hex')
    const accepted = await textIn(settingsAccepted)
    if (accepted === key) return
    await mkdir(runDir, { recursive: true, mode: 0o700 })
    await mkdir(agentDir, { recursive: true, mode: 0o700 })
    // An agent of before this file had it started with these.
    if (accepted === undefined && (await textIn(serverConfig)) === text) return this.#accept(key)
    const draft = `${serverConfig}.asked`
    try {
      await writeFile(draft, text, { mode: 0o600 })
      const { taken, words } = await askForSettings(this.#config.mysqld, draft, this.#run)
      this.#refused = words
      if (taken) await this.#accept(key)
    } finally {
      await rm(draft, { force: true })
    }
  }

  /** Undefined where Regent itself refuses the settings. */
  #rendered(): string | undefined {
    try {
      return renderServerConfig(this.#config)
    } catch (error) {
      if (codeOf(error) !== 'REGENT_BAD_REQUEST') throw error
      this.#refused = describeError(error)
      return undefined
    }
  }

  /** mysqld takes any value of a setting that data is made for, and ends once it reads the data. */
  async #contradiction(): Promise<string> {
    const known = await readGoodSettings(this.#layout)
    return known === undefined ? '' : contradictsData(known.good, this.#config)
  }

  async #identity(version: string | undefined): Promise<string> {
    const command = this.#config.mysqld.join(' ')
    if (version !== undefined) return `${command} ${version}`
    const program = await stat(this.#config.mysqld.at(-1) ?? '').catch(() => undefined)
    return `${command} ${program?.size} ${program?.mtimeMs}`
  }

  async #accept(key: string): Promise<void> {
    const { settingsAccepted } = this.#layout
    await writeFile(`${settingsAccepted}.new`, key, { mode: 0o600 })
    await rename(`${settingsAccepted}.new`, settingsAccepted)
  }
}

async function textIn(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

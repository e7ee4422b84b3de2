import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { playUnitTests } from './unit-tests.ts'

/** Scripts on the simulated cluster: a rule that is taken away shows here first. */
export const scenarios = 'test/simulation/scenarios'

/** Which tests: a file or a folder, and of that all, or the one with this title. */
export interface Script {
  readonly script: string
  readonly title?: string | undefined
}

/** A test that failed, and why. */
export interface Broken {
  readonly script: string
  readonly title: string
  readonly broke: string
}

export interface Played {
  readonly played: number
  readonly broken?: Broken
}

const run = promisify(execFile)
const mostMs = 900_000

/**
 * Plays tests with the code that is under `folder`, until one fails. Undefined where none fails. Throws where none was
 * played, or the code does not even load.
 */
export async function playScripts(folder: string, asked: Script): Promise<Broken | undefined> {
  const { script, title } = asked
  const { played, broken } = await (script.startsWith(scenarios)
    ? playScenarios(folder, { script, title })
    : playUnitTests(folder, asked))
  if (broken === undefined && played === 0)
    throw new Error(`${script} has no test${title === undefined ? '' : ` "${title}"`}`)
  return broken
}

/** Without vitest: a process of its own begins in a tenth of the time. */
async function playScenarios(folder: string, asked: Script): Promise<Played> {
  const { stdout } = await run(
    process.execPath,
    [join(folder, 'test/mutations/play-script.ts'), JSON.stringify(asked)],
    { timeout: mostMs, killSignal: 'SIGKILL', maxBuffer: 64 * 1_048_576 },
  )
  return JSON.parse(stdout) as Played
}

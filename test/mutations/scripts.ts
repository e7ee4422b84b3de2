import { execFile } from 'node:child_process'
import { readFile, rm } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { promisify } from 'node:util'

/** Scripts on the simulated cluster: a rule that is taken away shows here first. */
export const scenarios = 'test/simulation/scenarios'

/** Which tests: a file or a folder, and of that all, or the one with this title. */
export interface Script {
  readonly script: string
  readonly title?: string
}

/** A test that failed, and the first line of why. */
export interface Broken {
  readonly script: string
  readonly title: string
  readonly broke: string
}

/** What vitest writes, as far as that is read here. */
interface Report {
  readonly testResults: readonly {
    readonly name: string
    readonly message: string
    readonly status: string
    readonly assertionResults: readonly Assertion[]
  }[]
}

interface Assertion {
  readonly fullName: string
  readonly status: 'passed' | 'failed' | 'pending' | 'skipped'
  readonly failureMessages: readonly string[] | null
}

const run = promisify(execFile)
const mostMs = 600_000

/**
 * Plays tests with the code that is under `folder`, until one fails. Undefined where none fails. Throws where none was
 * played, or the code does not even load.
 */
export async function playScripts(folder: string, { script, title }: Script): Promise<Broken | undefined> {
  const output = join(folder, 'script-report.json')
  await rm(output, { force: true })
  const only = title === undefined ? [] : ['-t', patternOf(title)]
  const options = ['--project', 'unit', '--bail', '1', '--maxWorkers', '1', '--reporter', 'json', '--outputFile', output]
  const vitest = join(folder, 'node_modules/vitest/vitest.mjs')
  // Its exit code says that a test failed: what failed is in the report.
  await run(process.execPath, [vitest, 'run', '--root', folder, ...options, ...only, script], {
    cwd: folder,
    timeout: mostMs,
    killSignal: 'SIGKILL',
    maxBuffer: 64 * 1_048_576,
  }).catch(() => undefined)
  const report = JSON.parse(await readFile(output, 'utf8')) as Report
  await rm(output, { force: true })
  return brokenIn(folder, report)
}

/** The names of what a test stands in come with a mark between them, or without. */
function patternOf(title: string): string {
  const words = title.split(' ').map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  return `^${words.join('( > | )')}$`
}

function brokenIn(folder: string, { testResults }: Report): Broken | undefined {
  let played = 0
  for (const { name, message, status, assertionResults } of testResults) {
    if (status === 'failed' && assertionResults.length === 0)
      throw new Error(`${name} does not load: ${firstLine(message)}`)
    for (const { fullName, status: is, failureMessages } of assertionResults) {
      if (is === 'failed')
        return { script: relative(folder, name), title: fullName, broke: firstLine(failureMessages?.[0] ?? '') }
      if (is === 'passed') played += 1
    }
  }
  if (played === 0) throw new Error('no such test was played')
  return undefined
}

function firstLine(message: string): string {
  return (message.split('\n')[0] ?? '').replace(/^(\w*Error): /, '').slice(0, 400)
}

import { execFile } from 'node:child_process'
import { readFile, rm } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { promisify } from 'node:util'
import type { Played, Script } from './scripts.ts'

/** What vitest writes, as far as that is read here. */
interface Report {
  readonly testResults: readonly {
    readonly name: string
    readonly message: string
    readonly assertionResults: readonly Assertion[]
  }[]
}

interface Assertion {
  readonly fullName: string
  readonly status: string
  readonly failureMessages: readonly string[] | null
}

const run = promisify(execFile)
const mostMs = 300_000

/** Plays tests beside the code under `folder`, until one fails. Throws where the code does not load. */
export async function playUnitTests(folder: string, { script, title }: Script): Promise<Played> {
  const output = join(folder, 'unit-tests-report.json')
  const only = title === undefined ? [] : ['-t', patternOf(title)]
  const options = [
    '--project',
    'unit',
    '--bail',
    '1',
    '--maxWorkers',
    '1',
    '--reporter',
    'json',
    '--outputFile',
    output,
  ]
  const vitest = join(folder, 'node_modules/vitest/vitest.mjs')
  try {
    // Its exit code says that a test failed: what failed is in the report.
    await run(process.execPath, [vitest, 'run', '--root', folder, ...options, ...only, script], {
      cwd: folder,
      timeout: mostMs,
      killSignal: 'SIGKILL',
      maxBuffer: 64 * 1_048_576,
    }).catch(() => undefined)
    return playedIn(folder, JSON.parse(await readFile(output, 'utf8')) as Report)
  } finally {
    await rm(output, { force: true })
  }
}

/** The names of what a test stands in come with a mark between them, or without. */
function patternOf(title: string): string {
  const words = title.split(' ').map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  return `^${words.join('( > | )')}$`
}

function playedIn(folder: string, { testResults }: Report): Played {
  let played = 0
  for (const { name, message, assertionResults } of testResults) {
    if (assertionResults.length === 0) throw new Error(`${name} does not load: ${message.slice(0, 200)}`)
    for (const { fullName, status, failureMessages } of assertionResults) {
      const broke = (failureMessages?.[0] ?? '').split('\n')[0]?.slice(0, 400) ?? ''
      if (status === 'failed') return { played, broken: { script: relative(folder, name), title: fullName, broke } }
      if (status === 'passed') played += 1
    }
  }
  return { played }
}

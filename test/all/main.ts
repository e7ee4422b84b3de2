import { spawn } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { finished } from 'node:stream/promises'
import { parseArgs, stripVTControlCharacters } from 'node:util'
import { integerFrom } from '#cli/terminal/arguments.ts'
import { describeError } from '#common/errors/errors.ts'
import { runCommand } from '#common/process/run-command.ts'
import { monotonicMs } from '../support/monotonic.ts'
import { pageOf, type Ended } from './page.ts'
import { chosen, partsOf, type Part } from './parts.ts'

const help = `Runs everything that is too long, or too random, for each change: hours. Prints one page at the end.

    npm run test:all                             all parts
    npm run test:all -- --only long,e2e          these parts
    npm run test:all -- --minutes M              minutes of the campaign in each mode (default 60)
    npm run test:all -- --schedules N            schedules of the simulation in each mode (default 20000)
    npm run test:all -- --seed S                 the draws of an earlier run (default: other ones each time)

A part that fails stops no other. The exit code is 1 where one failed. Output is kept in .cache/test-all/.`

const root = join(import.meta.dirname, '..', '..')
const logs = join(root, '.cache', 'test-all')

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      only: { type: 'string' },
      minutes: { type: 'string', default: '60' },
      schedules: { type: 'string', default: '20000' },
      seed: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) return (console.log(help), 0)
  const draws = {
    seed: values.seed === undefined ? Math.floor(Math.random() * 1e9) : integerFrom(0, 999_999_999)(values.seed),
    minutes: integerFrom(1, 1_440)(values.minutes),
    schedules: integerFrom(1, 10_000_000)(values.schedules),
  }
  const parts = chosen(partsOf(draws), values.only)
  console.log(`seed ${draws.seed}: repeat the draws with npm run test:all -- --seed ${draws.seed}`)
  await mkdir(logs, { recursive: true })
  const ended: Ended[] = []
  for (const part of parts) ended.push(await run(part, draws.seed))
  const page = pageOf(await commitNow(), ended)
  await writeFile(join(logs, 'page.txt'), `${page}\n`)
  console.log(`\n${page}`)
  return ended.every(({ status }) => status === 0) ? 0 : 1
}

async function run(part: Part, seed: number): Promise<Ended> {
  console.log(`── ${part.name}: ${part.words.join(' ')}`)
  const log = join(logs, `${part.name}.log`)
  const file = createWriteStream(log)
  const beganMs = monotonicMs()
  const [program = '', ...words] = part.words
  const child = spawn(program, words, {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, REGENT_JUDGE_MEASURES: 'true', REGENT_SEED: String(seed) },
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
      file.write(text)
      process.stdout.write(text)
    })
  const status = await new Promise<number>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve(code ?? 1))
  })
  file.end()
  await finished(file)
  return { part, status, seconds: (monotonicMs() - beganMs) / 1_000, output: stripVTControlCharacters(output), log }
}

async function commitNow(): Promise<string> {
  const { ok, stdout } = await runCommand(['git', '-C', root, 'describe', '--always', '--dirty'], {
    deadlineMs: 10_000,
  })
  return ok ? stdout.trim() : 'a tree without git'
}

try {
  process.exitCode = await main()
} catch (error) {
  console.error(`${describeError(error)}\n\n${help}`)
  process.exitCode = 2
}

import { spawn } from 'node:child_process'
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { Command } from 'commander'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { isThorough } from '#test/support/draws.ts'
import { exitCodeMeanings } from './terminal/exit-codes.ts'
import { processIo } from './terminal/io.ts'
import { buildWholeProgram } from './program.ts'
import { regent, type Ran } from './testing.ts'
import { patienceMs } from '#test/support/patience.ts'

const nasty = [
  '',
  ' ',
  '-',
  '--',
  '---',
  '-=',
  '--=',
  '--=x',
  '=',
  '0',
  '-0',
  '-1',
  '1e9',
  '1e999',
  'NaN',
  'Infinity',
  '9007199254740993',
  '0x10',
  '1_000',
  '३',
  '99999999999999999999s',
  '-5s',
  '0ms',
  'undefined',
  'null',
  'true',
  '[object Object]',
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  '--__proto__',
  '--constructor=x',
  '--toString',
  '/proc/x',
  '/proc/self/environ',
  '/proc/self/mem',
  '/sys/x',
  '/dev/null',
  '/dev/full',
  '/nonexistent/a/b',
  '.',
  '..',
  '../..',
  '~',
  'a/b',
  'a/b/c',
  '/',
  '//',
  'demo',
  'demo-0',
  'demo-99999',
  'Demo',
  'ns/demo',
  'ns/demo-0',
  'ns/',
  '/demo',
  'é',
  '日本',
  '😀',
  '\u202edemo',
  'de\u0301mo',
  '\ud800',
  '\u0001',
  '\u001b[31mred',
  'a\nb',
  'a\tb',
  '\r',
  '\u007f',
  '\u009b31m',
  'x'.repeat(100_000),
  '-'.repeat(5_000),
  `--${'y'.repeat(50_000)}`,
  '%s%d',
  '${x}',
  '$(id)',
  '`id`',
  ';',
  '|',
  '*',
  "'",
  '"',
  '\\',
  '-o',
  'json',
  'text',
  '-ojson',
  '--output=json',
  '--output=',
  '--output',
  '-n',
  '--dry-run',
  '--dry-run=x',
  '--no-dry-run',
  '-h',
  '--help',
  '--help=x',
  'help',
  '-V',
  '--version',
  'http://',
  'http://[',
  'http://127.0.0.1:1',
  'http://user:secret@127.0.0.1:1',
  'https://127.0.0.1:99999',
  'ftp://x',
  'redis://',
  'redis://:secret@127.0.0.1:1/0',
  'file:///etc/passwd',
  'localhost:1',
  '::1',
  '[::1]:1',
  '127.0.0.1',
  '10.0.0.0/8',
]

interface Known {
  readonly paths: readonly (readonly string[])[]
  readonly options: readonly string[]
}

function knownIn(command: Command, path: readonly string[] = []): Known {
  const below = command.commands.map((child) => knownIn(child, [...path, child.name()]))
  const own = command.options.flatMap(({ long, short }) =>
    [long, short].filter((word) => word !== undefined && word !== null),
  )
  return {
    paths: [path, ...below.flatMap(({ paths }) => paths)],
    options: [...new Set([...own, ...below.flatMap(({ options }) => options)])],
  }
}

const set: Readonly<Record<string, string>> = {
  REGENT_MYSQLD: '/nonexistent/mysqld',
  KUBECONFIG: '/nonexistent/kubeconfig',
}
const before = { ...process.env }
const folder = process.cwd()
let known: Known
let place: string

beforeAll(async () => {
  known = knownIn(await buildWholeProgram(processIo()))
  place = await mkdtemp(join(tmpdir(), 'regent-nasty-'))
  for (const name of ['home', 'here']) await mkdir(join(place, name))
  Object.assign(process.env, set, { REGENT_HOME: join(place, 'home'), HOME: join(place, 'home') })
  process.chdir(join(place, 'here'))
})

afterAll(async () => {
  process.chdir(folder)
  await rm(place, { recursive: true })
  for (const name of [...Object.keys(set), 'REGENT_HOME', 'HOME']) {
    if (before[name] === undefined) delete process.env[name]
    else process.env[name] = before[name]
  }
})

function commandLines(): fc.Arbitrary<readonly string[]> {
  const word = fc.oneof(
    { weight: 5, arbitrary: fc.constantFrom(...nasty) },
    { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 20 }).map((found) => found.replaceAll('\0', '')) },
  )
  const option = fc.constantFrom(...known.options)
  const valued = fc
    .tuple(option, word)
    .chain(([name, value]) => fc.constantFrom([name, value], [`${name}=${value}`], [name]))
  const twice = fc.tuple(option, word, word).map(([name, first, second]) => [name, first, name, second])
  const rest = fc
    .array(
      fc.oneof(
        word.map((one) => [one]),
        valued,
        twice,
      ),
      { maxLength: 4 },
    )
    .map((parts) => parts.flat())
  const path = fc.oneof(
    { weight: 9, arbitrary: fc.constantFrom(...known.paths) },
    { weight: 1, arbitrary: fc.constant<readonly string[]>([]) },
  )
  return fc.tuple(path, rest).map(([first, others]) => [...first, ...others])
}

/** What a person is told: a sentence, no inside of the program, nothing that a terminal takes for an order. */
function complaints(argv: readonly string[], { code, out, err }: Ran): readonly string[] {
  const given = argv.join(' ')
  const inside = [/\n {4}at /, /REGENT_INTERNAL/, /\bundefined\b/, /\[object/, /\bNaN\b/].filter(
    (words) => words.test(err) && !words.test(given),
  )
  const isJson = /(?:^|\n)\{"code"/.test(err)
  return [
    ...(exitCodeMeanings[code] === undefined ? [`exit code ${code} is not documented`] : []),
    ...(code !== 0 && err.trim() === '' ? ['nothing is said'] : []),
    ...inside.map((words) => `what is said has ${String(words)}`),
    ...(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/.test(out + err)
      ? ['a terminal would obey what is said']
      : []),
    ...(err.length > 20_000 ? [`${err.length} characters are said`] : []),
    ...(isJson && Object.keys(JSON.parse(err.slice(err.indexOf('{"code"'))) as object).join() !== 'code,message,remedy'
      ? ['the error is not the documented JSON']
      : []),
  ]
}

/** A lock may stay of a command that looked at the clusters. */
const left = async (): Promise<readonly string[]> =>
  (await Promise.all(['home', 'here'].map((name) => readdir(join(place, name)))))
    .flat()
    .filter((name) => name !== 'lock')

test('whatever the arguments, the command line answers with a documented exit code and a clean sentence, changes nothing and does not hang', async () => {
  const property = fc.asyncProperty(commandLines(), async (argv) => {
    const ran = await Promise.race([
      regent(argv, {}, 200),
      new Promise<'hangs'>((resolve) => setTimeout(resolve, patienceMs, 'hangs').unref()),
    ])
    process.exitCode = undefined
    expect(ran).not.toBe('hangs')
    expect({
      said: (ran as Ran).err.slice(0, 1_000),
      argv: argv.map((word) => word.slice(0, 200)),
      wrong: complaints(argv, ran as Ran),
      left: await left(),
    }).toEqual(expect.objectContaining({ wrong: [], left: [] }))
  })
  await fc.assert(property, { numRuns: isThorough ? 600 : 150, endOnFailure: true })
})

test('every command answers to a single nasty word, and every such word is answered', async () => {
  const paths = known.paths.filter((one) => one.length > 0)
  // Each seventh word for each command, another seventh for the next: no word and no command is left out.
  const chosen = (row: number) => nasty.filter((_, at) => isThorough || (row + at) % 7 === 0)
  for (const argv of paths.flatMap((path, row) => chosen(row).map((word) => [...path, word]))) {
    const ran = await regent(argv, {}, 200)
    process.exitCode = undefined
    expect({ argv: argv.map((one) => one.slice(0, 200)), wrong: complaints(argv, ran), left: await left() }).toEqual(
      expect.objectContaining({ wrong: [], left: [] }),
    )
  }
})

test('so does the real process', async () => {
  const main = join(import.meta.dirname, '..', 'main.ts')
  const lines = fc.sample(commandLines(), 8).filter((argv) => !argv.some((word) => /[\ud800-\udfff]/u.test(word)))
  for (const argv of [
    ['topology', '--api', 'http://127.0.0.1:1', '--token-file', '/dev/null'],
    ['local', 'up', '__proto__'],
    ...lines,
  ]) {
    const child = spawn(process.execPath, [main, ...argv], {
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: patienceMs,
      killSignal: 'SIGKILL',
    })
    const ended = new Promise<number>((resolve) => child.once('close', (code) => resolve(code ?? -1)))
    const [out, err, code] = await Promise.all([text(child.stdout), text(child.stderr), ended])
    expect({ argv, code, err: err.slice(0, 1_000), wrong: complaints(argv, { code, out, err }) }).toEqual(
      expect.objectContaining({ wrong: [] }),
    )
  }
})

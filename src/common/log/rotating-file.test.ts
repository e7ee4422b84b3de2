import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { rotatingFile } from './rotating-file.ts'

let folder: string
let path: string
let failures: string[]

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'regent-test-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  path = join(folder, 'log')
  failures = []
})

function open(maxBytes: number, maxFiles: number): ReturnType<typeof rotatingFile> {
  return rotatingFile({ path, maxBytes, maxFiles, failed: (why) => failures.push(why) })
}

async function contents(): Promise<Readonly<Record<string, string>>> {
  const names = (await readdir(folder)).sort()
  return Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, await readFile(join(folder, name), 'utf8')] as const)),
  )
}

test('a file that would grow past its size is put aside whole, and so many of them are kept', async () => {
  const file = open(8, 2)
  for (const line of ['one\n', 'two\n', 'three\n', 'four\n', 'five\n']) file.write(line)
  expect(await contents()).toEqual({ log: 'five\n', 'log.1': 'four\n', 'log.2': 'three\n' })
})

test('a line longer than the size is written whole, and a size is one of bytes', async () => {
  const file = open(8, 3)
  for (const line of ['a line that is too long\n', '€€\n', '€\n']) file.write(line)
  expect(await contents()).toEqual({ log: '€\n', 'log.1': '€€\n', 'log.2': 'a line that is too long\n' })
})

test('a file of before goes on, and counts', async () => {
  await writeFile(path, 'before\n')
  const file = open(10, 1)
  file.write('a\n')
  file.write('b\n')
  expect(await contents()).toEqual({ log: 'b\n', 'log.1': 'before\na\n' })
})

test('while a file cannot be put aside lines are missing, which is said once, and then it goes on', async () => {
  const file = open(4, 1)
  file.write('one\n')
  await mkdir(join(folder, 'log.1', 'in the way'), { recursive: true })
  file.write('two\n')
  file.write('three\n')
  expect(failures).toEqual([expect.stringContaining(`lines are missing in ${path}: `)])
  await rm(join(folder, 'log.1'), { recursive: true })
  file.write('four\n')
  expect([failures.length, await contents()]).toEqual([1, { log: 'four\n', 'log.1': 'one\n' }])
})

test('a file that cannot be opened is refused at the start', () => {
  path = join(folder, 'missing', 'log')
  expect(() => open(1, 1)).toThrow(/the log file .*missing\/log cannot be opened: ENOENT/)
})

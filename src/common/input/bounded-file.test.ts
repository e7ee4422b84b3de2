import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { readBounded } from './bounded-file.ts'

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'bounded-file-'))
})

afterEach(() => rm(folder, { recursive: true }))

it('reads a file up to the bound, and refuses one byte more', async () => {
  const path = join(folder, 'file')
  await writeFile(path, 'x'.repeat(100_000))
  expect((await readBounded(path, 100_000)).toString()).toBe('x'.repeat(100_000))
  await expect(readBounded(path, 99_999)).rejects.toThrow('it is larger than 99999 bytes')
})

it('reads a pipe to its end', async () => {
  const path = join(folder, 'pipe')
  await promisify(execFile)('mkfifo', [path])
  const [content] = await Promise.all([readBounded(path, 1_000_000), writeFile(path, 'y'.repeat(200_000))])
  expect(content.toString()).toBe('y'.repeat(200_000))
})

it.each(['/dev/full', '/dev/zero'])('stops at the bound in %s, which has no end', async (device) => {
  await expect(readBounded(device, 1_000_000)).rejects.toThrow('it is larger than 1000000 bytes')
})

it('refuses a folder', async () => {
  await expect(readBounded(folder, 10)).rejects.toThrow('it is a folder, not a file')
})

import { appendFile, open, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { rotateLogs } from './log-rotation.ts'
import { temporaryFolder } from '../testing.ts'

test('a log past its limit is put aside, two of them are kept, and its writer goes on without noticing', async () => {
  const folder = await temporaryFolder()
  const path = join(folder, 'manager.log')
  await appendFile(join(folder, 'small.log'), 'short')
  await using writer = await open(path, 'a')
  for (const round of ['first', 'second', 'third']) {
    await writer.write(round.padEnd(20, '.'))
    await rotateLogs(folder, 10)
  }
  await writer.write('now')
  expect((await readdir(folder)).sort()).toEqual(['manager.log', 'manager.log.1', 'manager.log.2', 'small.log'])
  expect(await readFile(path, 'utf8')).toBe('now')
  expect(await readFile(`${path}.1`, 'utf8')).toMatch(/^third/)
  expect(await readFile(`${path}.2`, 'utf8')).toMatch(/^second/)
})

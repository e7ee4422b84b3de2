import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { keepArchives } from './kept-archives.ts'
import { archiveOf, layoutOf } from './state-layout.ts'

it('Archives are moved out of the instances’ folders, beside those that were kept before, and none is overwritten', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'regent-kept-'))
  onTestFinished(() => rm(dir, { recursive: true }))
  const layout = layoutOf(dir)
  const archive = async (words: string): Promise<void> => {
    const folder = join(archiveOf(layout, 'shop-1'), 'errant')
    await mkdir(folder, { recursive: true })
    await writeFile(join(folder, 'binlog'), words)
  }
  const kept = join(layout.archives, 'shop-1')
  await archive('first')
  expect(await keepArchives(layout)).toEqual([kept])
  await archive('second')
  expect(await keepArchives(layout)).toEqual([kept])
  await rm(layout.instances, { recursive: true })
  expect(await keepArchives(layout)).toEqual([kept])
  expect(await readFile(join(kept, 'errant', 'binlog'), 'utf8')).toBe('first')
  expect(await readFile(join(kept, 'errant.2', 'binlog'), 'utf8')).toBe('second')
})

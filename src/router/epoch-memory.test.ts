import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { temporaryFolder } from '#local/testing.ts'
import { EpochFile, type EpochFileParts } from './epoch-memory.ts'

async function aFile(more: Partial<EpochFileParts> = {}) {
  const folder = await temporaryFolder()
  const path = join(folder, 'epoch.json')
  const warned: string[] = []
  const open = (and: Partial<EpochFileParts> = {}) =>
    EpochFile.open({
      ...{ path, secret: 'token-of-shop', warn: (sentence) => void warned.push(String(sentence)), ...more },
      ...and,
    })
  return { folder, path, warned, open }
}

const settled = (path: string, epoch: number) =>
  expect.poll(async () => (JSON.parse(await readFile(path, 'utf8')) as { epoch: number }).epoch).toBe(epoch)

it('The highest epoch is known to the next life of a router, and a lower one changes nothing', async () => {
  const { folder, path, warned, open } = await aFile()
  const first = await open()
  expect(first.highest).toBe(0)
  for (const epoch of [3, 0, 7, 5]) first.note(epoch)
  expect(first.highest).toBe(7)
  await settled(path, 7)
  expect((await open()).highest).toBe(7)
  expect(warned).toEqual([])
  expect(await readdir(folder), 'no draft is left').toEqual(['epoch.json'])
  expect(await readFile(path, 'utf8'), 'the token is written nowhere').not.toContain('token')
})

it('What a deleted cluster of the same name left behind does not count', async () => {
  const { path, warned, open } = await aFile()
  ;(await open()).note(40)
  await settled(path, 40)
  const other = await open({ secret: 'token-of-the-next-shop' })
  expect([other.highest, warned]).toEqual([0, []])
  other.note(1)
  await settled(path, 1)
})

it.each<readonly [string, string]>([
  ['empty', ''],
  ['half-written', '{"version":1,"clus'],
  ['of zeros, as after a power cut', '\0'.repeat(64)],
  ['a text', '"7"'],
  ['an epoch below one', '{"version":1,"cluster":"x","epoch":0}'],
  ['an epoch beyond all', '{"version":1,"cluster":"x","epoch":9007199254740991}'],
  ['an epoch with a fraction', '{"version":1,"cluster":"x","epoch":1.5}'],
  ['of a newer version', '{"version":2,"epoch":{}}'],
])('A file that is %s is said to be so, counts for nothing, and is written anew', async (_, text) => {
  const { path, warned, open } = await aFile()
  await writeFile(path, text)
  const memory = await open()
  expect(memory.highest).toBe(0)
  expect(warned).toEqual([expect.stringMatching(/^this router begins as if it had never led: .*epoch\.json/)])
  memory.note(2)
  await settled(path, 2)
  expect((await open()).highest).toBe(2)
})

it('Where nothing can be written the epoch counts all the same, that is said, and it is tried again', async () => {
  let isFull = true
  const written: unknown[] = []
  const { warned, open } = await aFile({
    write: async (_, value) => {
      if (isFull) throw new Error('ENOSPC: no space left on device')
      written.push(value)
    },
  })
  const memory = await open()
  memory.note(4)
  await expect.poll(() => warned.length).toBe(1)
  expect(warned[0]).toBe('the epoch by which this router leads is not written down: ENOSPC: no space left on device')
  expect(memory.highest).toBe(4)
  isFull = false
  memory.note(4)
  await expect.poll(() => written).toMatchObject([{ version: 1, epoch: 4 }])
  memory.note(4)
  await new Promise(setImmediate)
  expect(written, 'once').toHaveLength(1)
})

it('A disk that hangs holds up nobody, and the newest epoch is written when it is back', async () => {
  const held: (() => void)[] = []
  const epochs: number[] = []
  const { open } = await aFile({
    write: async (_, value) => {
      await new Promise<void>((resolve) => held.push(resolve))
      epochs.push((value as { epoch: number }).epoch)
    },
  })
  const memory = await open()
  for (const epoch of [1, 2, 3]) memory.note(epoch)
  expect([memory.highest, held.length]).toEqual([3, 1])
  held.shift()?.()
  await expect.poll(() => held.length).toBe(1)
  held.shift()?.()
  await expect.poll(() => epochs).toEqual([1, 3])
})

it('What is forgotten is written over by what is known next, be it lower', async () => {
  const { path, open } = await aFile()
  const memory = await open()
  memory.note(9)
  await settled(path, 9)
  memory.forget()
  expect(memory.highest).toBe(0)
  memory.note(1)
  await settled(path, 1)
})

it('What is forgotten while it is written is written over, too', async () => {
  const held: (() => void)[] = []
  const epochs: number[] = []
  const { open } = await aFile({
    write: async (_, value) => {
      epochs.push((value as { epoch: number }).epoch)
      await new Promise<void>((resolve) => held.push(resolve))
    },
  })
  const memory = await open()
  memory.note(9)
  memory.forget()
  memory.note(1)
  held.shift()?.()
  await expect.poll(() => epochs).toEqual([9, 1])
})

it('A folder that stands where the file should be is said to be there, and the epoch counts', async () => {
  const { path, warned, open } = await aFile()
  await mkdir(path)
  const memory = await open()
  memory.note(3)
  await expect.poll(() => warned.length).toBe(2)
  expect(memory.highest).toBe(3)
})

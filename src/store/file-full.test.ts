import { mkdtemp, open, readdir, rm, type FileHandle } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished, vi } from 'vitest'
import { after, shop } from './contract.ts'
import { fileStore } from './file.ts'

/** A full disk has room for the name of a file, and not for what is in the file. */
async function fullDisk(folder: string) {
  const file = await open(join(folder, 'probe'), 'w')
  await file.close()
  await rm(join(folder, 'probe'))
  const handles = Object.getPrototypeOf(file) as FileHandle
  const noSpace = Object.assign(new Error('ENOSPC'), { code: 'ENOSPC' })
  const writes = vi.spyOn(handles, 'writeFile').mockRejectedValue(noSpace)
  onTestFinished(() => writes.mockRestore())
  return writes
}

it('A store on a full disk refuses what is written, and leaves nothing of that, however often a manager tries', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'regent-store-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const store = fileStore(folder)
  const first = await fullDisk(folder)
  const refused = { code: 'REGENT_STORE_UNAVAILABLE' }
  for (let times = 0; times < 3; times += 1)
    await expect(store.compareAndSwap('shop', 0, shop)).rejects.toMatchObject(refused)
  expect(await readdir(folder)).toEqual([])
  first.mockRestore()
  expect(await store.compareAndSwap('shop', 0, shop)).toBe(true)
  const before = await readdir(join(folder, 'record.shop'))
  await fullDisk(folder)
  for (let times = 0; times < 3; times += 1)
    await expect(store.compareAndSwap('shop', 1, after(shop))).rejects.toMatchObject(refused)
  expect(await readdir(join(folder, 'record.shop'))).toEqual(before)
})

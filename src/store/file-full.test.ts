import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished, vi } from 'vitest'
import { after, shop } from './contract.ts'
import { fileStore } from './file.ts'

const disk = { isFull: false }

/** A full disk has room for the name of a file, and not for what is in the file. */
vi.mock('node:fs/promises', async (importOriginal) => {
  const real = await importOriginal<typeof import('node:fs/promises')>()
  const open: typeof real.open = async (...how) => {
    const file = await real.open(...how)
    if (disk.isFull) file.writeFile = () => Promise.reject(Object.assign(new Error('ENOSPC'), { code: 'ENOSPC' }))
    return file
  }
  return { ...real, open }
})

it('A store on a full disk refuses what is written, and leaves nothing of that, however often a manager tries', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'regent-store-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const store = fileStore(folder)
  disk.isFull = true
  const refused = { code: 'REGENT_STORE_UNAVAILABLE' }
  for (let times = 0; times < 3; times += 1)
    await expect(store.compareAndSwap('shop', 0, shop)).rejects.toMatchObject(refused)
  expect(await readdir(folder)).toEqual([])
  disk.isFull = false
  expect(await store.compareAndSwap('shop', 0, shop)).toBe(true)
  const before = await readdir(join(folder, 'record.shop'))
  disk.isFull = true
  for (let times = 0; times < 3; times += 1)
    await expect(store.compareAndSwap('shop', 1, after(shop))).rejects.toMatchObject(refused)
  expect(await readdir(join(folder, 'record.shop'))).toEqual(before)
})

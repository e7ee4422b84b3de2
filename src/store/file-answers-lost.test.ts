import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished, vi } from 'vitest'
import { after, shop } from './contract.ts'
import { fileStore } from './file.ts'

const answers = { areLost: false }

/** A file system of a network asks again where an answer is lost: what was renamed is not there any more. */
vi.mock('node:fs/promises', async (importOriginal) => {
  const real = await importOriginal<typeof import('node:fs/promises')>()
  const rename: typeof real.rename = async (from, to) => {
    await real.rename(from, to)
    if (answers.areLost) await real.rename(from, to)
  }
  return { ...real, rename }
})

async function aStore() {
  const folder = await mkdtemp(join(tmpdir(), 'regent-store-'))
  answers.areLost = false
  onTestFinished(() => rm(folder, { recursive: true }))
  return fileStore(folder)
}

it('A record is whole that was swapped by a rename whose answer was lost, and the swap is known to be done', async () => {
  const store = await aStore()
  await store.compareAndSwap('shop', 0, shop)
  answers.areLost = true
  expect(await store.compareAndSwap('shop', 1, after(shop))).toBe(true)
  expect(await store.readRecord('shop')).toEqual(after(shop))
})

it('A first record is known to be written by a rename whose answer was lost', async () => {
  const store = await aStore()
  answers.areLost = true
  expect(await store.compareAndSwap('shop', 0, shop)).toBe(true)
  expect(await store.compareAndSwap('shop', 0, shop)).toBe(false)
  expect(await store.readRecord('shop')).toEqual(shop)
})

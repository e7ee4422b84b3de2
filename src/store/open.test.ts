import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { shop } from './contract.ts'
import { openStore } from './open.ts'

describe('The address of a store', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'regent-store-'))
  })
  afterEach(() => rm(folder, { recursive: true }))

  it.each(['', 'file:', 'file://', 'FILE:'])('with %j before a path is a file store', async (prefix) => {
    const store = await openStore(`${prefix}${folder}/records`)
    expect(await store.compareAndSwap('shop', 0, shop)).toBe(true)
    expect(await readdir(join(folder, 'records'))).toEqual(['record.shop'])
  })

  it('memory: is a store of its own each time', async () => {
    const store = await openStore('memory:')
    expect(await store.compareAndSwap('shop', 0, shop)).toBe(true)
    expect(await (await openStore('memory:')).readRecord('shop')).toBeUndefined()
  })

  it.each([
    ['', 'names no folder'],
    ['file:', 'names no folder'],
    ['file://host/path', 'names no folder'],
    ['/a\0b', 'names no folder'],
    ['etcd://localhost', 'cannot begin with "etcd:"'],
    ['http://127.0.0.1:6379', 'cannot begin with "http:"'],
    ['redis://', 'not of that form'],
    ['redis:6379', 'not of that form'],
    ['redis://127.0.0.1:99999', 'not of that form'],
    ['redis://127.0.0.1/shop', 'the database after the / must be a number'],
    ['redis://127.0.0.1/-1', 'the database after the / must be a number'],
    ['redis://127.0.0.1/0?password=x', 'it has parameters'],
  ])('%j is refused', async (url, complaint) => {
    const refused = openStore(url)
    await expect(refused).rejects.toMatchObject({ code: 'REGENT_BAD_REQUEST' })
    await expect(refused).rejects.toThrow(complaint)
  })

  it.each([
    'redis://u:hunter2@127.0.0.1:99999',
    'redis://u:1/hunter2@127.0.0.1',
    'redis://u:hunter2/@127.0.0.1',
    'redis://u:hunter2@127.0.0.1/x',
    'redis://u:hunter2%@127.0.0.1',
    'redis://u:hunter2@127.0.0.1?tls',
    'http://u:hunter2@127.0.0.1',
  ])('that is wrong is reported without the password in it: %s', async (url) => {
    const error: unknown = await openStore(url).catch((reason: unknown) => reason)
    expect(error).toMatchObject({ code: 'REGENT_BAD_REQUEST' })
    expect(inspect(error, { depth: null, showHidden: true })).not.toContain('hunter2')
  })
})

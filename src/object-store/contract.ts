import { createHash, randomBytes } from 'node:crypto'
import { expect, it } from 'vitest'
import type { ObjectStore, StoredObject } from './object-store.ts'

/** A store with nothing in it. */
export interface FreshStore {
  readonly store: ObjectStore
  /** An upload of a key that its writer did not end. */
  readonly beginUpload: (key: string) => Promise<void>
  readonly end: () => Promise<void>
}

/** What every store of backups does, whatever it is made of. */
export function itKeepsTheContract(open: () => Promise<FreshStore>, limits: { readonly manyKeys: number }): void {
  const withStore = (title: string, body: (fresh: FreshStore) => Promise<void>) =>
    it(title, async () => {
      const fresh = await open()
      try {
        await body(fresh)
      } finally {
        fresh.store.close()
        await fresh.end()
      }
    })

  withStore('gives back what was put, of any length, in the place of what was there', async ({ store }) => {
    for (const bytes of [1, 0, 65_537, 3_000_000]) {
      const content = randomBytes(bytes)
      expect(await store.put('a/b', inChunks(content))).toBe(bytes)
      expect(sumOf(await contentOf(store, 'a/b'))).toBe(sumOf(content))
    }
  })

  withStore('gives ranges, and leaves out what lies beyond the end', async ({ store }) => {
    const content = randomBytes(600_000)
    await store.put('a', inChunks(content), { expectedBytes: 600_000 })
    for (const [from, to] of [
      [0, 1],
      [299_999, 600_000],
      [599_999, undefined],
      [0, undefined],
      [10, 10],
      [500_000, 700_000],
      [600_000, undefined],
      [700_000, 800_000],
    ] as const) {
      const range = to === undefined ? { from } : { from, to }
      expect(sumOf(await contentOf(store, 'a', range)), `${from}–${to}`).toBe(sumOf(content.subarray(from, to)))
    }
    await expect(contentOf(store, 'a', { from: 2, to: 1 })).rejects.toMatchObject({ code: 'REGENT_BAD_REQUEST' })
  })

  withStore('says of an object that is not there that it is not', async ({ store }) => {
    await store.put('a/b', inChunks(Buffer.from('x')))
    for (const key of ['b', 'a/c', 'a/b/c', 'a'])
      await expect(contentOf(store, key)).rejects.toMatchObject({
        code: 'REGENT_NOT_FOUND',
        message: `Store of backups ${store.address} has no object ${key}.`,
      })
  })

  withStore('puts an object that is absent, and changes none that is there', async ({ store }) => {
    expect(await store.putIfAbsent('m/1', Buffer.from('first'))).toBe(true)
    expect(await store.putIfAbsent('m/1', Buffer.from('second'))).toBe(false)
    expect((await contentOf(store, 'm/1')).toString()).toBe('first')
    await store.put('m/1', inChunks(Buffer.from('third')))
    expect((await contentOf(store, 'm/1')).toString()).toBe('third')
    await store.delete(['m/1'])
    expect(await store.putIfAbsent('m/1', Buffer.from('fourth'))).toBe(true)
  })

  withStore('has one winner of many who put the same absent object at once', async ({ store }) => {
    for (let round = 0; round < 5; round += 1) {
      const contents = Array.from({ length: 8 }, (_, writer) => `writer ${writer} of round ${round}`)
      const won = await Promise.all(contents.map((text) => store.putIfAbsent(`race/${round}`, Buffer.from(text))))
      expect(won.filter(Boolean)).toHaveLength(1)
      expect((await contentOf(store, `race/${round}`)).toString()).toBe(contents[won.indexOf(true)])
    }
  })

  withStore('lists in the order of keys, with lengths, below any beginning', async ({ store }) => {
    const keys = ['a-b', 'a.b', 'a/b', 'a/c/d', 'a0', 'ab', 'B', 'b/a', '_x', 'a/.hidden', 'a/b.c'].toSorted()
    for (const key of keys.toReversed()) await store.put(key, inChunks(Buffer.from(key)))
    expect((await listed(store, '')).map(({ key, bytes }) => [key, bytes])).toEqual(
      keys.map((key) => [key, key.length]),
    )
    for (const prefix of ['a', 'a/', 'a/b', 'a/c/', 'a/c/d', 'a/c/dd', 'c', 'a/.', 'b/'])
      expect(
        (await listed(store, prefix)).map(({ key }) => key),
        prefix,
      ).toEqual(keys.filter((key) => key.startsWith(prefix)))
    const [{ modifiedMs } = { modifiedMs: 0 }] = await listed(store, 'B')
    expect(Math.abs(modifiedMs - Date.now())).toBeLessThan(600_000)
  })

  withStore('lists and deletes more than one page', async ({ store }) => {
    const keys = Array.from({ length: limits.manyKeys }, (_, number) => `many/${String(number).padStart(5, '0')}`)
    for (let at = 0; at < keys.length; at += 16)
      await Promise.all(keys.slice(at, at + 16).map((key) => store.put(key, inChunks(Buffer.from('x')))))
    await store.put('other', inChunks(Buffer.from('x')))
    expect((await listed(store, 'many/')).map(({ key }) => key)).toEqual(keys)
    await store.delete([...keys, 'many/was-never-there'])
    expect((await listed(store, '')).map(({ key }) => key)).toEqual(['other'])
  })

  withStore('keeps nothing of content that ends with an error, and throws that error', async ({ store }) => {
    await store.put('kept', inChunks(Buffer.from('before')))
    const trouble = new Error('the source broke')
    const failing = async function* () {
      yield randomBytes(300_000)
      throw trouble
    }
    await expect(store.put('kept', failing())).rejects.toBe(trouble)
    await expect(store.put('new', failing())).rejects.toBe(trouble)
    expect((await contentOf(store, 'kept')).toString()).toBe('before')
    expect((await listed(store, '')).map(({ key }) => key)).toEqual(['kept'])
    expect(await store.dropUnfinished('', Date.now() + 86_400_000)).toBe(0)
  })

  withStore('stops with the reason of a signal, and keeps nothing', async ({ store }) => {
    const controller = new AbortController()
    const endless = async function* () {
      for (let chunk = 0; ; chunk += 1) {
        if (chunk === 3) controller.abort(new Error('enough'))
        yield randomBytes(100_000)
      }
    }
    const { signal } = controller
    await expect(store.put('a', endless(), { signal })).rejects.toThrow('enough')
    await expect(store.putIfAbsent('a', Buffer.from('x'), { signal })).rejects.toThrow('enough')
    await expect(store.delete(['a'], { signal })).rejects.toThrow('enough')
    expect(await listed(store, '')).toEqual([])
  })

  withStore('gives up uploads that nobody ended, the old ones below a beginning', async ({ store, beginUpload }) => {
    await store.put('runs/done', inChunks(Buffer.from('x')))
    for (const key of ['runs/1/a', 'runs/1/b', 'else/c']) await beginUpload(key)
    expect((await listed(store, '')).map(({ key }) => key)).toEqual(['runs/done'])
    expect(await store.dropUnfinished('', Date.now() - 86_400_000)).toBe(0)
    expect(await store.dropUnfinished('runs/', Date.now() + 86_400_000)).toBe(2)
    expect(await store.dropUnfinished('', Date.now() + 86_400_000)).toBe(1)
    expect(await store.dropUnfinished('', Date.now() + 86_400_000)).toBe(0)
    expect((await contentOf(store, 'runs/done')).toString()).toBe('x')
  })

  withStore('refuses what is no key before anything is done', async ({ store }) => {
    for (const key of [
      '',
      '/a',
      'a/',
      'a//b',
      '../a',
      'a/..',
      'a/./b',
      'ä',
      'a b',
      'a~0123456789abcdef',
      'x'.repeat(201),
    ]) {
      const refused = { code: 'REGENT_BAD_REQUEST' }
      await expect(store.put(key, inChunks(Buffer.from('x'))), key).rejects.toMatchObject(refused)
      await expect(store.putIfAbsent(key, Buffer.from('x')), key).rejects.toMatchObject(refused)
      await expect(store.delete(['a', key]), key).rejects.toMatchObject(refused)
      await expect(contentOf(store, key), key).rejects.toMatchObject(refused)
    }
    await expect(listed(store, '../')).rejects.toMatchObject({ code: 'REGENT_BAD_REQUEST' })
    expect(await listed(store, '')).toEqual([])
  })
}

export async function* inChunks(content: Uint8Array, bytes = 65_536): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < content.length; at += bytes) yield content.subarray(at, at + bytes)
}

export async function contentOf(store: ObjectStore, ...[key, range]: Parameters<ObjectStore['get']>): Promise<Buffer> {
  return Buffer.concat(await collected(store.get(key, range)))
}

export async function listed(store: ObjectStore, prefix: string): Promise<StoredObject[]> {
  return collected(store.list(prefix))
}

async function collected<T>(all: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = []
  for await (const item of all) items.push(item)
  return items
}

export const sumOf = (content: Uint8Array): string => createHash('sha256').update(content).digest('hex')

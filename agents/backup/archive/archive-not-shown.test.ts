import { describe, expect, it } from 'vitest'
import { chainsOf } from '#backup/restore/window.ts'
import { parseKey } from '#backup/objects/object-key.ts'
import { readArchive } from '#backup/transfer/stored-archive.ts'
import { MemoryStore } from '#object-store/testing-store.ts'
import { uuid } from '#test/support/synthetic-binlog.ts'
import { BinlogArchiver } from './binlog-archiver.ts'
import { aPrimary, piecesIn, portTo, range, shipped, withBackup } from './testing-archiver.ts'

/** A primary that ships behind a backup, and whose store counts how often each piece was put. */
async function aShippingPrimary() {
  const store = new MemoryStore()
  await withBackup(store, 2)
  const put: string[] = []
  store.beforeWrite = (key) => {
    const found = parseKey(key)
    if (found?.kind === 'piece') put.push(`${found.piece.from}-${found.piece.to}`)
  }
  const primary = await aPrimary(store)
  const { archiver, has, passes, parts } = primary
  /** A minute later so much is executed, and the agent looks. */
  const minute = async (upTo: number) => {
    passes(60_000)
    await has([range(1, 30)], upTo)
    await archiver.look()
  }
  const codes = () => parts.notices.list.map(({ code }) => code)
  return { ...primary, store, put, minute, codes }
}

/** Its listing shows pieces up to that number alone. */
function showing(store: MemoryStore, upTo: () => number): void {
  const list = store.list.bind(store)
  store.list = async function* (prefix) {
    for await (const object of list(prefix)) {
      const found = parseKey(object.key)
      if (found?.kind !== 'piece' || found.piece.to <= upTo()) yield object
    }
  }
}

describe('What a primary has shipped and its store does not show', () => {
  it('since the store was put back to an earlier state, is shipped anew, which is said', async () => {
    const { store, minute, seen, put, parts, codes } = await aShippingPrimary()
    await minute(2)
    const before = new Map(store.objects)
    await minute(4)
    await minute(6)
    expect(await shipped(store)).toBe(`${uuid}:3-6`)
    store.objects.clear()
    for (const [key, content] of before) store.objects.set(key, content)
    await minute(8)
    // Its binlogs are held until it is shown again.
    expect(seen()?.gtids).toBe(`${uuid}:1-2:7-8`)
    for (const upTo of [8, 8, 10]) await minute(upTo)
    expect(await shipped(store)).toBe(`${uuid}:3-10`)
    expect(seen()).toMatchObject({ gtids: `${uuid}:1-10`, hole: '', trouble: '' })
    expect(chainsOf(await readArchive(store, 'shop'))[0]?.hole).toBe(null)
    expect(codes()).toEqual(['ArchiveWentBack'])
    expect(String(parts.notices.list[0]?.sentence)).toBe(
      `store memory does not show 4 transactions (${uuid}:3-6) that shop-0 shipped: put back to an earlier state, or late; shipped anew, as far as binlogs hold that`,
    )
    const times = put.length
    for (let at = 0; at < 5; at += 1) await minute(10)
    expect(put).toHaveLength(times)
  })

  it('and no binlog holds any more, is a hole that is named', async () => {
    const { store, minute, seen, has, passes, archiver } = await aShippingPrimary()
    await minute(4)
    await minute(6)
    for (const key of store.objects.keys()) if (parseKey(key)?.kind === 'piece') store.objects.delete(key)
    for (let at = 0; at < 4; at += 1) {
      passes(60_000)
      await has([range(5, 6)], 6)
      await archiver.look()
    }
    expect(piecesIn(store, 3)).toEqual(['5-6'])
    expect(seen()).toMatchObject({ lacks: `${uuid}:3-4`, trouble: '' })
    expect(seen()?.hole).toContain(`the archive lacks 2 transactions (${uuid}:3-4), which no binlog of shop-0 holds`)
  })

  it('for a moment, is not shipped again, and nothing is said', async () => {
    const { store, minute, seen, put, codes } = await aShippingPrimary()
    let upTo = Infinity
    showing(store, () => upTo)
    await minute(4)
    upTo = 2
    await minute(6)
    await minute(6)
    upTo = Infinity
    await minute(8)
    expect([put, codes()]).toEqual([['3-4', '5-6', '7-8'], []])
    expect(seen()).toMatchObject({ gtids: `${uuid}:1-8`, trouble: '' })
  })

  it('ever, is shipped twice and no more, and that is the trouble until the listing shows it', async () => {
    const { store, minute, seen, put, codes, parts } = await aShippingPrimary()
    let upTo = 2
    showing(store, () => upTo)
    for (let at = 0; at < 12; at += 1) await minute(4)
    expect(put).toEqual(['3-4', '3-4'])
    expect(codes()).toEqual(['ArchiveWentBack', 'BinlogsNotShown'])
    expect(seen()).toMatchObject({ gtids: `${uuid}:1-2`, hole: '' })
    expect(seen()?.trouble).toBe(
      `store memory takes pieces and does not list 2 transactions (${uuid}:3-4), shipped twice by shop-0: a restore ends before that. Look for a cache before the store`,
    )
    const atMs = seen()?.atMs
    // What is new is shipped, once.
    for (const to of [6, 8, 8, 8]) await minute(to)
    expect(put).toEqual(['3-4', '3-4', '5-6', '7-8'])
    expect([seen()?.atMs, seen()?.gtids]).toEqual([atMs, `${uuid}:1-2`])
    upTo = Infinity
    await minute(8)
    expect(seen()).toMatchObject({ gtids: `${uuid}:1-8`, trouble: '' })
    expect(put).toHaveLength(4)
    // An agent that starts again remembers nothing, and has the listing alone.
    await new BinlogArchiver(parts, portTo(store)).look()
    expect(put).toHaveLength(4)
  })

  it('while the shipping itself fails again and again, is not shipped at each try', async () => {
    const { store, minute, put, passes, archiver } = await aShippingPrimary()
    let upTo = Infinity
    showing(store, () => upTo)
    await minute(4)
    await minute(4)
    upTo = 2
    const get = store.get.bind(store)
    for (let at = 0; at < 60; at += 1) {
      passes(5_000)
      store.get =
        at % 2 === 0
          ? get
          : () => {
              throw new Error('the store is away')
            }
      await archiver.look()
    }
    expect(put.length).toBeLessThanOrEqual(2)
  })
})

import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { aManifest, aPiece } from '#backup/objects/testing.ts'
import { chainsOf } from '#backup/restore/window.ts'
import { manifestText } from '#backup/objects/manifest.ts'
import { keyOf } from '#backup/objects/object-key.ts'
import { readArchive, readOpening } from '#backup/transfer/stored-archive.ts'
import { KeyRing } from '#backup/keys/key-ring.ts'
import { MemoryStore } from '#object-store/testing-store.ts'
import { uuid } from '#test/support/synthetic-binlog.ts'
import { learn } from '#agents/instance/learn.ts'
import { primaryOfEpoch3 } from '#agents/testing.ts'
import { BinlogArchiver } from './binlog-archiver.ts'
import { aPrimary, aReplica, piecesIn, portTo, range, shipped, task, withBackup } from './testing-archiver.ts'

describe('A primary ships its binlogs', () => {
  it('from the moment on at which the archive began, and says how far that is', async () => {
    const store = new MemoryStore()
    const { archiver, has, seen } = await aPrimary(store)
    await has([range(1, 4), range(5, 8)], 6)
    await archiver.look()
    expect(await shipped(store)).toBe('')
    await has([range(1, 4), range(5, 8), range(9, 12)], 11)
    await archiver.look()
    expect(await shipped(store)).toBe(`${uuid}:7-11`)
    expect(seen()).toMatchObject({ gtids: `${uuid}:1-11`, hole: '', trouble: '' })
    await archiver.look()
    expect(await shipped(store)).toBe(`${uuid}:7-11`)
  })

  it('from the oldest backup on, as far as its binlogs reach back', async () => {
    const store = new MemoryStore()
    await withBackup(store, 2)
    const { archiver, has, seen } = await aPrimary(store)
    await has([range(1, 4), range(5, 8)], 8)
    await archiver.look()
    expect(await shipped(store)).toBe(`${uuid}:3-8`)
    expect(seen()?.hole).toBe('')
  })

  it('once it takes writes: by then all is applied that the last primary shipped', async () => {
    const store = new MemoryStore()
    const first = await aPrimary(store)
    await first.has([range(1, 4)], 4)
    await first.archiver.look()
    await first.has([range(1, 4), range(5, 8)], 8)
    await first.archiver.look()
    const second = await aPrimary(store, 4)
    second.server.state = { ...second.server.state, readOnly: true }
    await second.has([range(1, 6)], 6)
    await second.archiver.look()
    second.server.state = { ...second.server.state, readOnly: false }
    await second.has([range(1, 10)], 10)
    await second.archiver.look()
    const { openings } = await readArchive(store, 'shop')
    expect(openings.find(({ epoch }) => epoch === 4)?.gtids.toString()).toBe(`${uuid}:1-10`)
  })

  it('under no epoch without an opening, also where one begins while the archive is read', async () => {
    const store = new MemoryStore()
    await withBackup(store, 2)
    const { parts, archiver, has } = await aPrimary(store)
    await has([range(1, 8)], 8)
    const open = store.putIfAbsent.bind(store)
    store.putIfAbsent = async (key, content) => {
      const isThere = await open(key, content)
      await parts.file.update({ promise: 4, assignment: { ...primaryOfEpoch3, epoch: 4 } })
      return isThere
    }
    await archiver.look()
    await archiver.look()
    const { openings, pieces } = await readArchive(store, 'shop')
    expect(openings.map(({ epoch }) => epoch)).toEqual(expect.arrayContaining(pieces.map(({ epoch }) => epoch)))
    expect(await shipped(store)).toBe(`${uuid}:3-8`)
  })

  it('also what a lagging replica had not when another instance backed it up', async () => {
    const store = new MemoryStore()
    const { parts, archiver, has, seen } = await aPrimary(store)
    await has([range(1, 8)], 8)
    await archiver.look()
    expect(await shipped(store)).toBe('')
    await withBackup(store, 5)
    const newest = { name: '20261126T031209Z', endedAtMs: 1, rawBytes: 1, storedBytes: 1 }
    learn(parts, {
      fact: 'backupsSeen',
      seen: { whole: 1, leftovers: 0, begun: null, newest, verified: null, answers: true, sentence: '', lookedAtMs: 1 },
    })
    await archiver.look()
    expect(await shipped(store)).toBe(`${uuid}:6-8`)
    expect(seen()?.hole).toBe('')
  })

  it('and names what no binlog holds any more, until the next backup is made', async () => {
    const store = new MemoryStore()
    await withBackup(store, 2)
    const { parts, archiver, has, seen } = await aPrimary(store)
    await has([range(5, 8), range(9, 10)], 10)
    await archiver.look()
    expect(await shipped(store)).toBe(`${uuid}:5-10`)
    expect(seen()?.hole).toContain(`the archive lacks 2 transactions (${uuid}:3-4), which no binlog of shop-0 holds`)
    const [broken] = chainsOf(await readArchive(store, 'shop'))
    expect(String(broken?.hole?.why)).toContain(`the archive lacks 2 transactions before ${uuid}:5`)

    const later = aManifest({ gtids: `${uuid}:1-10`, epoch: 3, endedAtMs: 1_796_000_000_000 })
    await store.putIfAbsent(
      keyOf({ kind: 'manifest', cluster: 'shop', name: later.name }),
      Buffer.from(manifestText(later)),
    )
    const made = { name: later.name, stage: 'done', rawBytes: 1, storedBytes: 1, sentence: '' } as const
    learn(parts, { fact: 'backupWent', backup: made })
    await archiver.look()
    expect(seen()?.hole).toBe('')
  })

  it('to their end, also where a file ends right behind the look at it', async () => {
    const store = new MemoryStore()
    await withBackup(store, 2)
    const { parts, archiver, has, seen } = await aPrimary(store)
    await has([range(5, 8)], 8)
    const { volume } = parts
    const visit = volume.visitBinlog.bind(volume)
    let looks = 0
    Object.assign(volume, {
      visitBinlog: async (...given: Parameters<typeof visit>) => {
        await visit(...given)
        looks += 1
        // A transaction comes into the file, and another file is begun.
        if (looks === 2) await has([range(5, 9), range(10, 11)], 11)
      },
    })
    await archiver.look()
    await archiver.look()
    expect([seen()?.lacks, await shipped(store)]).toEqual([`${uuid}:3-4`, `${uuid}:5-11`])
  })

  it('and says what it lacks no more once a replica has shipped that out of its own binlogs', async () => {
    const store = new MemoryStore()
    await withBackup(store, 2)
    const { archiver, has, seen, passes } = await aPrimary(store)
    await has([range(5, 8), range(9, 10)], 10)
    await archiver.look()
    expect(seen()).toMatchObject({ lacks: `${uuid}:3-4`, gtids: `${uuid}:1-2:5-10` })

    const replica = await aReplica(store)
    await replica.has([range(1, 3), range(4, 10)], 10)
    const told = { version: 1, cluster: 'shop', member: 'shop-1@0a1b2c', store: task.store } as const
    expect(() => replica.closer.begin({ ...told, epoch: 2, gtids: `${uuid}:3-4` })).toThrow('does not act in epoch 2')
    replica.closer.begin({ ...told, epoch: 3, gtids: `${uuid}:3-4` })
    await expect.poll(() => replica.parts.jobs.closesHole?.stage).toBe('done')
    expect(replica.parts.jobs.closesHole?.sentence).toBe(
      '2 transactions that the archive lacked are shipped out of the binlogs of shop-1',
    )
    const [chain] = chainsOf(await readArchive(store, 'shop'))
    expect([chain?.hole, chain?.gtids.toString()]).toEqual([null, `${uuid}:1-10`])
    passes(30_000)
    await archiver.look()
    expect(seen()).toMatchObject({ lacks: '', hole: '', gtids: `${uuid}:1-10` })

    replica.closer.begin({ ...told, epoch: 3, gtids: `${uuid}:3-4` })
    await expect.poll(() => replica.parts.jobs.closesHole?.sentence).toContain('no binlog of shop-1 holds')
  })

  it('and waits for a transaction that is in the binlog and not executed', async () => {
    const store = new MemoryStore()
    const { archiver, has, seen } = await aPrimary(store)
    await has([range(1, 9)], 0)
    await archiver.look()
    await has([range(1, 9)], 5)
    await archiver.look()
    expect(await shipped(store)).toBe(`${uuid}:1-5`)
    expect(seen()?.gtids).toBe(`${uuid}:1-5`)
  })

  it('again from the first piece that is not there, wherever a sender died', async () => {
    for (let dies = 0; dies < 5; dies += 1) {
      const store = new MemoryStore()
      const [first, next] = [await aPrimary(store), await aPrimary(store, 4)]
      await first.has([[]], 0)
      await first.archiver.look()
      let writes = 0
      store.beforeWrite = () => {
        writes += 1
        if (writes > dies) throw new Error('the store is away')
      }
      await first.has([range(1, 3), range(4, 6), range(7, 9)], 9)
      await first.archiver.look()
      store.beforeWrite = () => undefined
      await next.has([range(1, 5), range(6, 11)], 11)
      await next.archiver.look()
      expect(await shipped(store)).toBe(`${uuid}:1-11`)
      await withBackup(store, 1)
      const [chain] = chainsOf(await readArchive(store, 'shop'))
      expect(chain?.hole).toBe(null)
      expect(chain?.gtids.toString()).toBe(`${uuid}:1-11`)
    }
  })

  it('says why that does not go on, once, and goes on when the store is there again', async () => {
    const store = new MemoryStore()
    const { parts, archiver, has, seen } = await aPrimary(store)
    store.beforeWrite = () => {
      throw new Error('the store is full')
    }
    await has([range(1, 3)], 3)
    await archiver.look()
    await archiver.look()
    expect(seen()).toMatchObject({ atMs: null, trouble: 'the store is full' })
    expect(parts.notices.list.filter(({ code }) => code === 'BinlogsNotShipped')).toHaveLength(1)
    store.beforeWrite = () => undefined
    await archiver.look()
    expect(seen()?.trouble).toBe('')
  })

  it('also beside a backup whose manifest somebody damaged', async () => {
    const store = new MemoryStore()
    await withBackup(store, 2)
    const { archiver, has, seen } = await aPrimary(store)
    store.objects.set(keyOf({ kind: 'manifest', cluster: 'shop', name: '20261126T031209Z' }), Buffer.from('{'))
    await has([range(1, 4)], 4)
    await archiver.look()
    expect(seen()).toMatchObject({ gtids: `${uuid}:1-4`, trouble: '' })
    expect([...store.objects.keys()].some((key) => key.includes(`${uuid}-3-4-2`))).toBe(true)
  })

  it('also behind a beginning of an epoch that somebody damaged, and makes its own one anew', async () => {
    const store = new MemoryStore()
    const damage = (epoch: number) =>
      store.objects.set(keyOf({ kind: 'opening', cluster: 'shop', epoch }), Buffer.from('{'))
    await withBackup(store, 2)
    damage(1)
    const { archiver, has, seen } = await aPrimary(store)
    await has([range(1, 4)], 4)
    await archiver.look()
    expect(seen()).toMatchObject({ gtids: `${uuid}:1-4`, trouble: '' })
    damage(3)
    const again = await aPrimary(store)
    await again.has([range(1, 6)], 6)
    await again.archiver.look()
    expect(again.seen()).toMatchObject({ gtids: `${uuid}:1-6`, trouble: '' })
    const { openings } = await readArchive(store, 'shop')
    const [first, third] = openings
    expect([openings.length, String(first?.distrust)]).toEqual([2, expect.stringContaining('cannot be used')])
    expect([third?.epoch, third?.distrust, third?.gtids.toString()]).toEqual([3, '', `${uuid}:1-6`])
  })

  it('also where the name of an object claims all that is still to come, and says once what to do about that', async () => {
    const store = new MemoryStore()
    const { archiver, has, seen, parts } = await aPrimary(store)
    const forged = aPiece({ epoch: 2, source: uuid, to: 9_223_372_036_854_775_806n })
    const key = keyOf({ kind: 'piece', cluster: 'shop', piece: forged })
    store.objects.set(key, Buffer.from('nonsense'))
    await has([range(1, 4)], 4)
    await archiver.look()
    await has([range(1, 4), range(5, 8)], 8)
    await archiver.look()
    expect(piecesIn(store, 3)).toEqual(['5-8'])
    expect(seen()).toMatchObject({ gtids: `${uuid}:1-8`, hole: '', trouble: '' })
    // Another shipping finds the same.
    await parts.file.update({ promise: 4, assignment: { ...primaryOfEpoch3, epoch: 4 } })
    await has([range(1, 4), range(5, 9)], 9)
    await archiver.look()
    expect(piecesIn(store, 4)).toEqual(['9-9'])
    const said = parts.notices.list.filter(({ code }) => code === 'ArchiveDoubted')
    expect(said.map(({ sentence }) => String(sentence))).toEqual([
      `object ${key} of store memory cannot be believed: shop-0 has not executed ${uuid}:5-9223372036854775806; not counted as shipped: delete it, unless a failover lost that`,
    ])
  })

  it.each<[string, KeyRing | null, readonly string[]]>([
    ['all of it, since nothing proves their name', null, ['5-7', '8-11']],
    ['as far as it had that when its epoch began', new KeyRing([randomBytes(32)]), ['8-11']],
  ])('of which the last primary shipped more than the next one has applied: %s', async (_, ring, expected) => {
    const store = new MemoryStore()
    await withBackup(store, 4)
    const first = await aPrimary(store, 3, ring)
    await first.has([range(1, 9)], 9)
    await first.archiver.look()
    expect(piecesIn(store, 3)).toEqual(['5-9'])
    const next = await aPrimary(store, 4, ring)
    await next.has([range(1, 11)], 7)
    await next.archiver.look()
    await next.has([range(1, 11)], 11)
    await next.archiver.look()
    const again = new BinlogArchiver(next.parts, portTo(store, ring))
    await again.look()
    expect(piecesIn(store, 4)).toEqual(expected)
    expect(next.seen()).toMatchObject({ hole: '', lacks: '', trouble: '' })
    const [chain] = chainsOf(await readArchive(store, 'shop'))
    expect([chain?.hole, chain?.gtids.toString()]).toEqual([null, `${uuid}:1-11`])
  })

  it('into no archive of another history, or of a later epoch', async () => {
    const store = new MemoryStore()
    const first = await aPrimary(store, 4)
    await first.has([range(1, 9)], 9)
    await first.archiver.look()
    const old = await aPrimary(store, 3)
    await old.has([range(1, 9)], 9)
    await old.archiver.look()
    expect(old.seen()?.trouble).toContain('the archive has epoch 4 already, this primary epoch 3')
    const again = await aPrimary(store, 4)
    await again.has([range(1, 2)], 2)
    await again.archiver.look()
    expect(again.seen()?.trouble).toContain(`transactions that this primary does not have (${uuid}:3-9)`)
    expect(await shipped(store)).toBe('')
  })

  it('of which a restore with a key believes the epoch, also where the key came in its middle', async () => {
    const [store, ring] = [new MemoryStore(), new KeyRing([randomBytes(32)])]
    const before = await aPrimary(store)
    await before.has([range(1, 4)], 4)
    await before.archiver.look()
    const read = () => readOpening(store, { cluster: 'shop', epoch: 3, key: ring })
    expect(String((await read()).distrust)).toContain('is not signed')
    const after = await aPrimary(store, 3, ring)
    await after.has([range(1, 4), range(5, 8)], 8)
    await after.archiver.look()
    expect(await read()).toMatchObject({ epoch: 3, distrust: '' })
    expect((await read()).gtids.toString()).toBe(`${uuid}:1-8`)
    const again = await aPrimary(store, 3, ring)
    await again.has([range(1, 4), range(5, 9)], 9)
    await again.archiver.look()
    expect((await read()).gtids.toString()).toBe(`${uuid}:1-8`)
    expect(again.seen()).toMatchObject({ gtids: `${uuid}:1-9`, hole: '', trouble: '' })
  })

  it('as long as it is the primary, and where an archive is asked for', async () => {
    const store = new MemoryStore()
    const { parts, archiver, has } = await aPrimary(store)
    await has([range(1, 3)], 3)
    expect(archiver.while()).toBe(true)
    learn(parts, { fact: 'backupsTold', task: { ...task, archive: { everySeconds: 0 } } })
    expect(archiver.while()).toBe(false)
    learn(parts, { fact: 'backupsTold', task: null })
    expect(archiver.while()).toBe(false)
  })
})

import { createHash, randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { openingText } from '#backup/objects/opening.ts'
import { KeyRing } from '#backup/keys/key-ring.ts'
import { readManifest } from '#backup/transfer/stored-manifests.ts'
import type { RestoreOrder } from '#failover/protocol/order.ts'
import { MemoryStore } from '#object-store/testing-store.ts'
import { Converger } from '#agents/converge/converger.ts'
import type { Parts } from '#agents/instance/parts.ts'
import { unpack } from '#agents/lifecycle/copy/unpack.ts'
import { aServerState, replicaOfEpoch3, ScriptedProcess, ScriptedServer, testParts } from '#agents/testing.ts'
import { BackUp } from '../back-up.ts'
import { Restoring } from './restoring.ts'
import { aFolder, aReplica, backedUp, ended, key, mebibyte, name, said, throwAway } from '../testing-backups.ts'

const keysOf = ({ objects }: MemoryStore) => [...objects.keys()].map((each) => each.replace(`shop/base/${name}/`, ''))

/** The agent of an empty instance that is to begin with the newest backup. */
async function restoredFrom(
  store: MemoryStore,
  withKey: Buffer | null = null,
  meanwhile: (agent: { readonly parts: Parts; readonly server: ScriptedServer }) => unknown = () => undefined,
) {
  const [folder, server] = [await aFolder(), new ScriptedServer({ ...aServerState(), executed: '' })]
  let restored: string | undefined
  const process = new ScriptedProcess()
  const parts = await testParts(server, {
    process,
    volume: {
      freshSeedFolder: async () => join(folder, 'data.seed'),
      unpackInto: async (to, { read }) => {
        await mkdir(to)
        await unpack(
          read(() => undefined),
          to,
          () => false,
        )
        await meanwhile({ parts, server })
      },
      swapIn: async (from) => {
        restored = `shop/${name}`
        expect(existsSync(from)).toBe(true)
      },
      restoredFrom: async () => restored,
      probe: async () => ({ freeBytes: 1_000 * mebibyte, failure: null, detail: '' }),
    },
  })
  await parts.observer.refresh()
  const converger = new Converger(parts, () => undefined)
  const open = async () => ({ store, key: withKey && new KeyRing([withKey]) })
  const restoring = new Restoring(parts, converger, { lineage: 'other', open, throwAway })
  const order = { ...said, epoch: 1, revision: 0, of: 'shop' } as unknown as RestoreOrder
  restoring.begin(order)
  while (parts.copying.progress !== null) await new Promise((resolve) => setTimeout(resolve, 5))
  return { parts, folder, failure: parts.copying.failures.get('shop-0')?.error, isSwapped: restored !== undefined }
}

describe('A base backup', () => {
  it('is a folder of parts, which the manifest makes a backup at the end', async () => {
    const { store, replica } = await backedUp()
    expect(keysOf(store)).toEqual(['shop/owner.json', 'begun.json', 'part-000001', 'manifest.json'])
    expect(existsSync(replica.folder)).toBe(false)
    expect(replica.parts.notices.list.map(({ code }) => code)).toContain('BackupMade')
  })

  it('of which a part or its name cannot be stored leaves nothing behind, and the failure is told', async () => {
    for (const failing of ['begun.json', 'part-000001']) {
      const store = new MemoryStore()
      const replica = await aReplica(store)
      store.beforeWrite = (each) => {
        if (each.endsWith(failing)) throw new Error('the store is full')
      }
      replica.backUp.begin(said)
      expect(await ended(replica)).toMatchObject({ stage: 'failed', sentence: 'the store is full' })
      expect(keysOf(store)).toEqual(['shop/owner.json'])
      expect(existsSync(replica.folder)).toBe(false)
    }
  })

  it('is sent no faster than its store may be filled, and waits for nothing where no limit is said', async () => {
    for (const bytesPerSecond of [undefined, mebibyte]) {
      const store = new MemoryStore()
      const replica = await aReplica(store, { content: randomBytes(3 * mebibyte) })
      const slept: number[] = []
      const { clock, timers, ...world } = replica.parts.world
      const standing = { ...world, clock: { ...clock, monotonicMs: () => 0 } }
      const sleep = async (ms: number) => void slept.push(ms)
      Object.assign(replica.parts, { world: { ...standing, timers: { ...timers, sleep } } })
      replica.backUp.begin({ ...said, store: { ...said.store, ...(bytesPerSecond && { bytesPerSecond }) } })
      expect(await ended(replica)).toMatchObject({ stage: 'done' })
      const longest = Math.max(0, ...slept)
      // The last chunk, of 128 KiB at most, waits for those before.
      expect(bytesPerSecond === undefined ? longest === 0 : longest > 2_800).toBe(true)
    }
  })

  it.each([
    ['the answer is lost', () => Promise.reject(new Error('the answer was lost'))],
    ['a repetition of the request finds it there', async () => false],
  ])('whose manifest was stored is made, although %s', async (_, answer) => {
    const store = new MemoryStore()
    const replica = await aReplica(store)
    const putIfAbsent = store.putIfAbsent.bind(store)
    store.putIfAbsent = async (each, ...more) => {
      const isStored = await putIfAbsent(each, ...more)
      return each.endsWith('manifest.json') ? answer() : isStored
    }
    replica.backUp.begin(said)
    expect(await ended(replica)).toMatchObject({ stage: 'done', sentence: '' })
    expect(replica.parts.notices.list.map(({ code }) => code)).toContain('BackupMade')
  })

  it('whose manifest may have been stored keeps its parts: a backup without parts would look whole', async () => {
    const store = new MemoryStore()
    const replica = await aReplica(store)
    store.beforeWrite = (each) => {
      if (each.endsWith('manifest.json')) throw new Error('the answer was lost')
    }
    replica.backUp.begin(said)
    expect(await ended(replica)).toMatchObject({ stage: 'failed', sentence: 'the answer was lost' })
    expect(keysOf(store)).toEqual(['shop/owner.json', 'begun.json', 'part-000001'])
  })

  it('whose parts vanish while the archive is read gets no manifest: the last look before that is at its parts', async () => {
    const store = new MemoryStore()
    const replica = await aReplica(store)
    const list = store.list.bind(store)
    store.list = (prefix) => {
      if (prefix.endsWith('/binlog/')) store.objects.delete(`shop/base/${name}/part-000001`)
      return list(prefix)
    }
    replica.backUp.begin(said)
    expect(await ended(replica)).toMatchObject({ stage: 'failed' })
    expect([...store.objects.keys()].filter((each) => each.endsWith('manifest.json'))).toEqual([])
  })

  it('that is older than the beginning of the archive is good for its own moment, and that is said', async () => {
    const store = new MemoryStore()
    const source = '1cb8e8f7-e593-11f1-9151-02fc00000001'
    const opening = openingText({ epoch: 3, instance: 'shop-1', atMs: 1, gtids: `${source}:1-9` })
    const here = await aReplica(store)
    here.server.state = { ...here.server.state, executed: `${source}:1-4` }
    await here.parts.observer.refresh()
    await store.putIfAbsent('shop/binlog/0000000003/opening.json', Buffer.from(opening))
    here.backUp.begin(said)
    const why = `the archive begins behind backup ${name}: 5 transactions (${source}:5-9) are in neither`
    const seen = await ended(here)
    expect(seen.stage).toBe('done')
    expect(seen.sentence).toContain(why)
    expect(String(here.parts.notices.list.find(({ code }) => code === 'BackupMade')?.sentence)).toContain(why)
  })

  it('is made once, however often that is asked for', async () => {
    const store = new MemoryStore()
    const replica = await aReplica(store)
    replica.backUp.begin(said)
    replica.backUp.begin(said)
    expect(() => replica.backUp.begin({ ...said, name: '20261126T031210Z' })).toThrow(`makes backup ${name} already`)
    await ended(replica)
    replica.backUp.begin(said)
    expect(keysOf(store)).toHaveLength(4)
  })

  it('never takes the name of another one', async () => {
    const { store } = await backedUp()
    const before = new Map(store.objects)
    const other = await aReplica(store)
    Object.assign(other.parts, { config: { ...other.parts.config, instance: 'shop-9' } })
    other.backUp.begin(said)
    expect(await ended(other)).toMatchObject({
      stage: 'failed',
      sentence: expect.stringContaining('was begun before') as string,
    })
    expect(store.objects).toEqual(before)
  })

  it('that is whole is told to be made by an agent that was started again, and is asked for it again', async () => {
    const { store, replica } = await backedUp()
    const before = new Map(store.objects)
    const again = await aReplica(store)
    again.backUp.begin(said)
    expect(await ended(again)).toEqual(replica.parts.jobs.backup)
    expect(store.objects).toEqual(before)
  })

  it('that its agent did not live to end has failed, where the agent is asked for it again', async () => {
    const { store } = await backedUp()
    store.objects.delete(`shop/base/${name}/manifest.json`)
    const again = await aReplica(store)
    again.backUp.begin(said)
    expect(await ended(again)).toMatchObject({
      stage: 'failed',
      sentence: expect.stringContaining('was begun before') as string,
    })
  })

  it('does not go into the folder of another cluster of the same name', async () => {
    const { store } = await backedUp()
    const other = await aReplica(store, { of: 'ffeeddccbbaa99887766554433221100' })
    other.backUp.begin({ ...said, name: '20261126T031210Z' })
    expect((await ended(other)).sentence).toContain('has the backups of another cluster of that name')
    expect(keysOf(store)).toHaveLength(4)
  })

  it('goes into the folder that its store names', async () => {
    const store = new MemoryStore()
    const replica = await aReplica(store)
    replica.backUp.begin({ ...said, store: { ...said.store, folder: 'shops.prod' } })
    expect(await ended(replica)).toMatchObject({ stage: 'done' })
    const folders = [...store.objects.keys()].map((key) => key.split('/')[0])
    expect([...new Set(folders)]).toEqual(['shops.prod'])
    expect(replica.parts.runs.list.map(({ sentence }) => sentence.split(': ')[1])).toEqual([
      'the data are copied',
      '3.0 MiB of data are in the store',
      '3.0 MiB of data',
    ])
  })

  it('that is made while the clock is set back has its times in order, and can be restored', async () => {
    const store = new MemoryStore()
    const replica = await aReplica(store)
    let wallMs = Date.parse('2026-11-26T05:00:00Z')
    const { world } = replica.parts
    Object.assign(replica.parts, { world: { ...world, clock: { ...world.clock, wallMs: () => (wallMs -= 60_000) } } })
    replica.backUp.begin(said)
    expect(await ended(replica)).toMatchObject({ stage: 'done' })
    expect((await restoredFrom(store)).failure).toBeUndefined()
  })

  it.each(['channel', 'group'])(
    'ended no earlier than its newest commit, whose clock went ahead: %s',
    async (where) => {
      const store = new MemoryStore()
      const replica = await aReplica(store)
      const appliedUpToMs = Date.now() + 60_000
      const { server } = replica
      const { cloneLocal } = server
      server.cloneLocal = async (...how) => {
        await cloneLocal(...how)
        server.state = { ...server.state, [where]: { appliedUpToMs } }
      }
      replica.backUp.begin(said)
      await ended(replica)
      expect((await readManifest(store, 'shop', name)).endedAtMs).toBe(appliedUpToMs)
    },
  )

  it('is of the epoch in which it was copied, whoever leads when all is sent', async () => {
    const store = new MemoryStore()
    const replica = await aReplica(store)
    const { file } = replica.parts
    const put = store.put.bind(store)
    store.put = async (...what) => {
      await file.update({ promise: 4, assignment: { ...replicaOfEpoch3, epoch: 4 } })
      return put(...what)
    }
    replica.backUp.begin(said)
    await ended(replica)
    expect(file.current.assignment?.epoch).toBe(4)
    expect((await readManifest(store, 'shop', name)).epoch).toBe(3)
  })

  it('whose manifest nobody could read fails, and is not there', async () => {
    const store = new MemoryStore()
    const replica = await aReplica(store)
    const { observer } = replica.parts
    const { server } = observer
    Object.defineProperty(observer, 'server', { get: () => server && { ...server, version: '' } })
    replica.backUp.begin(said)
    expect(await ended(replica)).toMatchObject({
      stage: 'failed',
      sentence: expect.stringContaining('mysqlVersion') as string,
    })
    expect(keysOf(store)).toEqual(['shop/owner.json'])
  })

  it.each(['is deleted', 'is cut off'])('of which a part %s while it is made does not become whole', async (what) => {
    const store = new MemoryStore()
    const replica = await aReplica(store, { content: randomBytes(70 * mebibyte) })
    const part = `shop/base/${name}/part-000001`
    store.beforeWrite = (each) => {
      if (!each.endsWith('part-000002')) return
      if (what === 'is deleted') store.objects.delete(part)
      else store.objects.set(part, Buffer.alloc(7))
    }
    replica.backUp.begin(said)
    expect(await ended(replica)).toMatchObject({
      stage: 'failed',
      sentence: `part 1 of backup ${name} is not in the store any more as it was written: somebody deleted or changed that`,
    })
    expect(keysOf(store)).toEqual(['shop/owner.json'])
  })

  it('is refused by an agent that can open no store', async () => {
    const { parts } = await aReplica(new MemoryStore())
    expect(() => new BackUp(parts, null).begin(said)).toThrow('has no access to stores of backups')
  })
})

describe('A restore', () => {
  it.each([null, key])('gives the data back, encrypted or not', async (withKey) => {
    const { store } = await backedUp(withKey)
    const { parts, folder, failure, isSwapped } = await restoredFrom(store, withKey)
    expect([failure, isSwapped]).toEqual([undefined, true])
    expect(await readFile(join(folder, 'data.seed/mysql.ibd'), 'utf8')).toBe('dictionary')
    expect(parts.file.current.restored).toBe(`shop/${name}`)
  })

  it('with another key, or with none, fetches nothing', async () => {
    const { store } = await backedUp(key)
    const other = createHash('sha256').update('another key').digest()
    for (const [wrong, why] of [
      [null, 'no key was given: give the file of that key'],
      [other, ': give the file of that key'],
    ] as const) {
      const { folder, failure } = await restoredFrom(store, wrong)
      expect(failure).toContain(why)
      expect(existsSync(join(folder, 'data.seed'))).toBe(false)
    }
  })

  it.each([null, key])(
    'of a backup with a byte that was changed in the store swaps nothing in, and says why',
    async (withKey) => {
      const { store } = await backedUp(withKey)
      const whole = new Map(store.objects)
      const stored = [`shop/base/${name}/part-000001`, `shop/base/${name}/manifest.json`]
      await fc.assert(
        fc.asyncProperty(
          fc.constantFrom(...stored),
          fc.nat(1_000_000),
          fc.integer({ min: 1, max: 255 }),
          async (at, index, flip) => {
            const bytes = Buffer.from(whole.get(at) ?? '')
            const place = index % bytes.length
            bytes[place] = (bytes[place] ?? 0) ^ flip
            store.objects.set(at, bytes)
            const { failure, isSwapped } = await restoredFrom(store, withKey)
            store.objects.set(at, whole.get(at) ?? bytes)
            // White space at the end of a manifest says nothing.
            if (isSwapped) expect(place).toBe(bytes.length - 1)
            else expect(failure).toMatch(/./)
          },
        ),
        { seed: 20_260_911, numRuns: 25 },
      )
    },
  )

  it('whose backup retention deletes meanwhile says so, and begins again with the one that is left', async () => {
    const { store } = await backedUp()
    const newer = '20261127T031209Z'
    const other = await aReplica(store)
    other.backUp.begin({ ...said, name: newer })
    expect(await ended(other)).toMatchObject({ stage: 'done' })
    const get = store.get.bind(store)
    store.get = (each) => {
      if (each.endsWith('part-000001'))
        for (const gone of store.objects.keys()) if (gone.includes(newer)) store.objects.delete(gone)
      return get(each)
    }
    const { failure, isSwapped, parts } = await restoredFrom(store)
    expect([failure, isSwapped]).toEqual([
      `part 1 of backup ${newer} is not in the store any more: retention or a person deleted that, perhaps while the backup was read; what is left is to be read anew`,
      false,
    ])
    // A refusal would be tried again after ten minutes.
    expect(parts.copying.failures.get('shop-0')?.isRefused).toBe(false)
    expect(await restoredFrom(store)).toMatchObject({ failure: undefined, isSwapped: true })
  })

  it('takes no place of anybody who got a part in the cluster, or data, while the backup was fetched', async () => {
    const { store } = await backedUp()
    for (const meanwhile of [
      ({ parts }: { readonly parts: Parts }) => parts.file.update({ promise: 1 }),
      ({ server }: { readonly server: ScriptedServer }) => void (server.state = { ...server.state, executed: 'x:1' }),
    ]) {
      const { failure, isSwapped } = await restoredFrom(store, null, meanwhile)
      expect(isSwapped).toBe(false)
      expect(failure).toContain('what was fetched is not used')
    }
  })

  it('of a cluster without a backup says so', async () => {
    expect((await restoredFrom(new MemoryStore())).failure).toBe(
      'the store has no whole backup of this cluster: make one first',
    )
  })
})

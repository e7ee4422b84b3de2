import { existsSync } from 'node:fs'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { keyOf } from '#backup/objects/object-key.ts'
import { aManifest } from '#backup/objects/testing.ts'
import { readParts } from '#backup/transfer/read-parts.ts'
import { readManifest } from '#backup/transfer/stored-manifests.ts'
import { orderVersion, type Endpoint } from '#failover/protocol/message.ts'
import type { ReseedOrder } from '#failover/protocol/order.ts'
import type { MemoryStore } from '#object-store/testing-store.ts'
import { GtidSet } from '#topology/gtid/gtid-set.ts'
import { backupAsDonor } from '#topology/snapshot/copies.ts'
import { gtids, memberOf } from '#topology/testing.ts'
import { unpack } from '#agents/lifecycle/copy/unpack.ts'
import { Seeding } from '#agents/orders/reseeding.ts'
import type { BackupPort } from '#agents/ports/backup-port.ts'
import { aServerState, ScriptedServer, testParts } from '#agents/testing.ts'
import { whyNotToSeed } from './seed-from-backup.ts'
import { aFolder, backedUp, lineage, mebibyte, name, throwAway } from '../testing-backups.ts'

const primary: Endpoint = { instance: 'shop-1', host: '127.24.1.2', port: 3306, agent: '127.24.1.2:9000' }
const held = aServerState().executed
const order: ReseedOrder = {
  version: orderVersion,
  cluster: 'shop',
  member: memberOf('shop-0'),
  epoch: 3,
  revision: 10,
  donor: primary,
  source: primary,
  destroys: '',
  sourceHolds: held,
  errant: '',
  peers: [],
  backup: { store: { address: 'memory' }, of: 'shop', purged: held },
}

const converger = { alone: <Result>(task: () => Promise<Result>) => task(), wake: () => undefined }

/** `shop-0` on a new volume. */
async function anInstance(store: MemoryStore, port: Partial<BackupPort> = {}) {
  const seedDir = join(await aFolder(), 'data.seed')
  const server = new ScriptedServer(aServerState({ executed: '' }))
  const seen = { swapped: 0, from: [] as (string | null)[] }
  const parts = await testParts(server, {
    volume: {
      freshSeedFolder: async () => (await rm(seedDir, { recursive: true, force: true }), seedDir),
      unpackInto: async (to, { read }, from) => {
        await mkdir(to)
        await unpack(
          read(() => undefined),
          to,
          () => false,
        )
        seen.from.push(from)
      },
      swapIn: async () => {
        expect(await readFile(join(seedDir, 'mysql.ibd'), 'utf8')).toBe('dictionary')
        seen.swapped += 1
        server.state = aServerState({ executed: held })
      },
      probe: async () => ({ freeBytes: 1_000 * mebibyte, failure: null, detail: '' }),
    },
  })
  await parts.observer.refresh()
  const open = async () => ({ store, key: null })
  const seeding = new Seeding(parts, converger, { lineage, open, throwAway, ...port })
  const seeded = async (more: Partial<ReseedOrder> = {}): Promise<string | undefined> => {
    await seeding.begin({ ...order, ...more })
    while (parts.copying.progress !== null) await parts.world.timers.sleep(1)
    return parts.copying.failures.get(backupAsDonor)?.error
  }
  return { parts, server, seeding, seen, seedDir, seeded }
}

describe('An instance that is seeded from a backup', () => {
  it('has the data of that in the place of its own, copies nobody, and says so', async () => {
    const { store } = await backedUp()
    const { parts, server, seen, seeded } = await anInstance(store)
    expect(await seeded()).toBeUndefined()
    expect(seen).toEqual({ swapped: 1, from: [null] })
    expect(server.calls).not.toContain('clone')
    expect(parts.file.current).not.toMatchObject({ seeding: true })
    expect(String(parts.notices.list.at(-1)?.sentence)).toBe(
      `this instance was seeded from backup ${name} of cluster shop`,
    )
  })

  it('says how far that is, by the name of the backup', async () => {
    const { store } = await backedUp()
    const { parts, seeding } = await anInstance(store)
    const shown = new Set<string>()
    const watched = new Seeding(
      { ...parts, changed: () => void shown.add(JSON.stringify(parts.copying.progress)) },
      converger,
      { lineage, open: async () => ({ store, key: null }), throwAway },
    )
    await watched.begin(order)
    while (parts.copying.progress !== null) await parts.world.timers.sleep(1)
    expect([...shown].join()).toMatch(
      new RegExp(`"backup ${name}: \\d\\.\\d MiB of 3.0 MiB are here","percent":\\d+,"donor":"a backup"`),
    )
    seeding.stop()
  })

  it('that ends half-way, and whose agent dies, has nothing in its place, holds nothing, and begins again', async () => {
    const { store } = await backedUp()
    const { parts, seen, seedDir, seeded } = await anInstance(store)
    const whole = { ...parts.volume }
    parts.volume.unpackInto = async (to) => {
      await mkdir(to)
      await writeFile(join(to, 'mysql.ibd'), 'half a dic')
      throw new Error('the store went away')
    }
    expect(await seeded()).toBe('the store went away')
    expect([existsSync(seedDir), seen.swapped, parts.file.current.seeding]).toEqual([false, 0, true])
    // An agent that died left the half of it there.
    await mkdir(seedDir)
    await writeFile(join(seedDir, 'mysql.ibd'), 'half a dic')
    Object.assign(parts.volume, whole)
    expect(await seeded()).toBeUndefined()
    expect([seen.swapped, parts.file.current.seeding]).toEqual([1, false])
  })

  it('goes on with the parts that are there', async () => {
    const { store } = await backedUp()
    const { parts, seen, seedDir, seeded } = await anInstance(store)
    const manifest = await readManifest(store, 'shop', name)
    const end = { part: 1, bytes: manifest.rawBytes, sha256: manifest.sha256 }
    const asked: string[] = []
    const keyed = (part: number) => keyOf({ kind: 'part', cluster: 'shop', name, part })
    const [get, signal] = [store.get.bind(store), new AbortController().signal]
    const read = () => readParts(manifest, { store: { get }, keyOf: keyed, key: null, signal })
    store.get = (key) => (asked.push(key), get(key))
    parts.volume.halfCopy = async () => ({ kept: { folder: seedDir, end, read } })
    parts.volume.freshSeedFolder = () => Promise.reject(new Error('the parts were thrown away'))
    expect(await seeded()).toBeUndefined()
    expect([seen.swapped, asked.filter((key) => key.includes('part-'))]).toEqual([1, []])
  })

  it('fetches nothing of a backup that is too old for the binlogs of the primary', async () => {
    const { store } = await backedUp()
    const { seen, seedDir, seeded } = await anInstance(store)
    expect(await seeded({ backup: { ...order.backup!, purged: gtids('shop-0', 1_000) } })).toContain(
      'is too old: with the archive it lacks',
    )
    expect([existsSync(seedDir), seen.from]).toEqual([false, []])
  })

  it('fetches nothing of a backup of another cluster of that name', async () => {
    const { store } = await backedUp()
    const { seen, seeded } = await anInstance(store, { lineage: 'f'.repeat(32) })
    expect(await seeded()).toContain('is of another cluster of that name')
    expect(seen.from).toEqual([])
  })

  it('whose agent can open no store says so', async () => {
    const { parts, server } = await anInstance((await backedUp()).store)
    await new Seeding(parts, converger).begin(order)
    while (parts.copying.progress !== null) await parts.world.timers.sleep(1)
    expect(parts.copying.failures.get(backupAsDonor)?.error).toContain('has no access to stores of backups')
    expect(server.calls).not.toContain('clone')
  })
})

describe('A backup that an instance may be seeded from', () => {
  const plan = { backup: aManifest(), gtids: GtidSet.parse(held) }
  const allowed = { purged: held, errant: '' }
  it('reaches all that the primary has in no binlog any more', () => {
    expect(whyNotToSeed(plan, lineage, allowed)).toBe('')
    expect(whyNotToSeed(plan, lineage, { ...allowed, purged: '' })).toBe('')
    expect(String(whyNotToSeed(plan, lineage, { ...allowed, purged: gtids('shop-0', 102) }))).toMatch(
      /lacks \d+ transaction/,
    )
  })

  it('has nothing of what the instance gives up', () => {
    expect(String(whyNotToSeed(plan, lineage, { ...allowed, errant: held }))).toContain(
      'that the primary does not have',
    )
    expect(whyNotToSeed(plan, lineage, { ...allowed, errant: gtids('shop-2', 3) })).toBe('')
  })
})

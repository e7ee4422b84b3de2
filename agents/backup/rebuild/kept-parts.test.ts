import { appendFile, mkdir, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Manifest } from '#backup/objects/manifest.ts'
import { realWorld } from '#common/ports/real-world.ts'
import { MemoryStore } from '#object-store/testing-store.ts'
import type { HalfCopy } from '#agents/ports/volume.ts'
import { anAgentConfig } from '#agents/testing.ts'
import { createVolume } from '#agents/volume/volume.ts'
import { aFolder, aReplica, ended, inSmallParts, name, said, type Files } from '../testing-backups.ts'
import { copyNameOf, fetchBase } from './fetch-base.ts'

const content = Buffer.from(Array.from({ length: 300_000 }, (_, at) => (at * 31) % 251))
/** Empty files, long names, lengths of whole blocks and others. */
const more: Files = {
  '#clone/#status_fix': Buffer.alloc(0),
  '#innodb_redo/#ib_redo1': Buffer.alloc(102_400, 7),
  [`app/${'@4e2d'.repeat(30)}.ibd`]: Buffer.alloc(40_001, 'x'),
  'app/empty.ibd': Buffer.alloc(0),
  'app/orders.ibd': Buffer.alloc(60_000, 'y'),
  undo_001: Buffer.alloc(51_200, 'u'),
}
const files: Files = { ...more, ibdata1: content, 'mysql.ibd': Buffer.from('dictionary') }
const journalName = 'data.seed.parts'
const goneMessage = 'the store is away'

async function aStore(partBytes: number) {
  const store = new MemoryStore()
  const replica = await aReplica(store, { content, more })
  replica.backUp.begin(said)
  expect(await ended(replica)).toMatchObject({ stage: 'done' })
  return { store, manifest: await inSmallParts(store, partBytes) }
}

/** A store that fails before this part, and tells which parts were asked for. */
function failingAt(store: MemoryStore, part: number) {
  const asked: number[] = []
  const get = async function* (key: string) {
    const number = Number(/part-(\d+)$/.exec(key)?.[1])
    if (number >= part) throw new Error(goneMessage)
    asked.push(number)
    yield* store.get(key)
  }
  return { asked, store: Object.assign(new MemoryStore(), { get }) }
}

async function aVolume() {
  const path = await aFolder()
  await mkdir(join(path, 'data'))
  const volume = createVolume(anAgentConfig({ volume: path }), () => 0)
  return { path, volume, folder: join(path, 'data.seed'), journal: join(path, journalName) }
}

type Volume = Awaited<ReturnType<typeof aVolume>>

/** One try to fetch the backup into a volume, as an agent makes it. */
async function fetched(
  { volume }: Volume,
  store: MemoryStore,
  manifest: Manifest,
  signal = new AbortController().signal,
) {
  const half: HalfCopy = await volume.halfCopy(copyNameOf(manifest))
  const folder = half.kept?.folder ?? (await volume.freshSeedFolder())
  const told: string[] = []
  let nowMs = 0
  const clock = { ...realWorld.clock, monotonicMs: () => (nowMs += 2_000) }
  const failure = await fetchBase(manifest, folder, {
    ...{ store, key: null, own: true, volume, half, signal },
    world: { clock, timers: realWorld.timers },
    progress: (stage, percent) => void told.push(`${String(stage)} ${percent}`),
  }).then(
    () => undefined,
    (error: Error) => error.message,
  )
  return { half, failure, told }
}

async function contentOf(folder: string): Promise<Files> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true })
  const paths = found.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  return Object.fromEntries(
    await Promise.all(paths.map(async (path) => [path.slice(folder.length + 1), await readFile(path)] as const)),
  )
}

/** Parts that were kept as those of this backup. */
async function noted(volume: Volume, store: MemoryStore, manifest: Manifest, as: Manifest): Promise<void> {
  await fetched(volume, store, manifest)
  const journal = await readFile(volume.journal, 'utf8')
  await writeFile(volume.journal, journal.replace(copyNameOf(manifest).digest, copyNameOf(as).digest))
}

describe('A fetch of a base backup', () => {
  it('goes on behind the last part that is there, wherever parts and files begin, and asks for no part twice', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 3_000, max: 90_000 }), fc.nat(), async (partBytes, at) => {
        const { store, manifest } = await aStore(partBytes)
        const parts = manifest.parts.length
        const volume = await aVolume()
        const failing = failingAt(store, 1 + (at % (parts + 1)))
        const first = await fetched(volume, failing.store, manifest)
        const whole = failingAt(store, Infinity)
        const second = await fetched(volume, whole.store, manifest)
        expect(second.failure).toBeUndefined()
        expect(await contentOf(volume.folder)).toEqual(files)
        expect(await readdir(volume.path)).toEqual(['data', 'data.seed'])
        if (first.failure === undefined) return
        const kept = second.half.kept?.end.part ?? 0
        expect(whole.asked).toEqual(Array.from({ length: parts - kept }, (_, each) => kept + each + 1))
        // The last part that came has no end before the next one begins.
        expect(kept).toBeLessThanOrEqual(failing.asked.length)
      }),
      { seed: 20_261_129, numRuns: 8 },
    )
  })

  it('says where that goes on, and how far that is from there', async () => {
    const { store, manifest } = await aStore(30_000)
    const volume = await aVolume()
    await fetched(volume, failingAt(store, 12).store, manifest)
    const { told, half } = await fetched(volume, store, manifest)
    const { part = 0, bytes = 0 } = half.kept?.end ?? {}
    expect([part > 5, part < 12, bytes]).toEqual([true, true, part * 30_000])
    const goesOn = `; goes on after part ${part} of ${manifest.parts.length}, ${(bytes / 1_048_576).toFixed(1)} MiB are here`
    const percent = Math.floor((bytes * 100) / manifest.rawBytes)
    expect(told[0]).toMatch(new RegExp(`^0.[0-9] MiB of 0.[0-9] MiB that are here are read again${goesOn} ${percent}$`))
    expect(told.at(-1)).toMatch(new RegExp(`^0.5 MiB of 0.5 MiB are here, .+ left${goesOn} 100$`))
  })

  it('is gone on with however often that breaks off, and also where an agent is stopped', async () => {
    const { store, manifest } = await aStore(30_000)
    const volume = await aVolume()
    let kept = 0
    for (let part = 8; part <= manifest.parts.length; part += 4) {
      await fetched(volume, failingAt(store, part).store, manifest)
      const stop = new AbortController()
      stop.abort(new Error('the agent is stopping'))
      const { failure, half } = await fetched(volume, store, manifest, stop.signal)
      expect(failure).toBe('the agent is stopping')
      expect(half.kept?.end.part).toBeGreaterThan(kept)
      kept = half.kept?.end.part ?? 0
    }
    const whole = failingAt(store, Infinity)
    expect((await fetched(volume, whole.store, manifest)).failure).toBeUndefined()
    expect(await contentOf(volume.folder)).toEqual(files)
    expect(whole.asked[0]).toBe(kept + 1)
  })

  it.each([
    ['of another name', (manifest: Manifest) => ({ ...manifest, cluster: 'bank' })],
    ['of another lineage', (manifest: Manifest) => ({ ...manifest, lineage: 'f'.repeat(32) })],
    [
      'with another key',
      (manifest: Manifest): Manifest => ({
        ...manifest,
        encryption: { scheme: 'aes-256-gcm', keyId: 'other', salt: '1'.repeat(64), signature: '2'.repeat(64) },
      }),
    ],
    ['with another sum', (manifest: Manifest) => ({ ...manifest, sha256: '0'.repeat(64) })],
  ])('takes nothing that was kept of a backup %s, and says why', async (_, other) => {
    const { store, manifest } = await aStore(30_000)
    const volume = await aVolume()
    await noted(volume, failingAt(store, 12).store, manifest, other(manifest))
    const half = await volume.volume.halfCopy(copyNameOf(manifest))
    if (half.kept !== null) throw new Error('the parts of another backup were taken')
    expect(half.bytes).toBeGreaterThan(0)
    expect(String(half.whyNot)).toBe(`the bytes there are not of backup ${name} of cluster shop as the store has that`)
  })

  it('takes nothing that a newer Regent noted', async () => {
    const { store, manifest } = await aStore(30_000)
    const volume = await aVolume()
    await fetched(volume, failingAt(store, 12).store, manifest)
    const journal = await readFile(volume.journal, 'utf8')
    await writeFile(volume.journal, journal.replace('"version":1', '"version":2'))
    const half = await volume.volume.halfCopy(copyNameOf(manifest))
    expect(half).toMatchObject({ kept: null, bytes: expect.any(Number) as number })
    expect('whyNot' in half && String(half.whyNot)).toBe('the journal there is of another version of Regent')
    const { told, failure } = await fetched(volume, store, manifest)
    expect(failure).toBeUndefined()
    expect(told[0]).toMatch(/MiB are fetched again: the journal there is of another version of Regent 5$/)
  })

  it('keeps nothing where its own disk failed, or where the whole is another than was stored', async () => {
    const { store, manifest } = await aStore(30_000)
    for (const wrong of [
      { ...manifest, sha256: '0'.repeat(64) },
      { ...manifest, parts: manifest.parts.map((part, at) => (at === 12 ? { ...part, rawBytes: 1 } : part)) },
    ]) {
      const volume = await aVolume()
      expect((await fetched(volume, store, wrong)).failure).toMatch(/their sum is another|more than the 1 bytes/)
      const isWhole = wrong.sha256 === manifest.sha256
      expect((await volume.volume.halfCopy(copyNameOf(wrong))).kept === null).toBe(!isWhole)
    }
    const volume = await aVolume()
    await mkdir(volume.folder)
    await writeFile(join(volume.folder, 'ibdata1'), '')
    const half: HalfCopy = { kept: null, bytes: 0, whyNot: '' }
    const tools = { store, key: null, own: true, volume: volume.volume, half, world: realWorld }
    const signal = new AbortController().signal
    await expect(fetchBase(manifest, volume.folder, { ...tools, signal, progress: () => undefined })).rejects.toThrow(
      'EEXIST',
    )
    expect(await readdir(volume.path)).toEqual(['data'])
  })

  it('gives no other data, whatever of what was kept is flipped, cut off, made longer, removed or added', async () => {
    const { store, manifest } = await aStore(30_000)
    const volume = await aVolume()
    let begunAnew = 0
    await fc.assert(
      fc.asyncProperty(
        fc.option(fc.nat(), { nil: null }),
        fc.record({
          at: fc.nat(),
          flip: fc.integer({ min: 1, max: 255 }),
          what: fc.constantFrom('flip', 'cut', 'lengthen', 'remove', 'add'),
        }),
        async (which, how) => {
          await rm(volume.folder, { recursive: true, force: true })
          await volume.volume.giveUpHalfCopy()
          await fetched(volume, failingAt(store, 14).store, manifest)
          const kept = Object.keys(await contentOf(volume.folder))
          const path = which === null ? volume.journal : join(volume.folder, kept[which % kept.length] ?? '')
          await damage(path, how)
          const whole = failingAt(store, Infinity)
          const { failure } = await fetched(volume, whole.store, manifest)
          expect(failure).toBeUndefined()
          expect(await contentOf(volume.folder)).toEqual(files)
          if (whole.asked[0] === 1) begunAnew += 1
        },
      ),
      { seed: 20_261_129, numRuns: 30 },
    )
    expect(begunAnew).toBeGreaterThan(5)
  })

  it('begins from the first part where a byte that was kept is another, and says so', async () => {
    const { store, manifest } = await aStore(30_000)
    const volume = await aVolume()
    await fetched(volume, failingAt(store, 14).store, manifest)
    await damage(join(volume.folder, '#innodb_redo/#ib_redo1'), { what: 'flip', at: 100, flip: 1 })
    const whole = failingAt(store, Infinity)
    const { told, failure } = await fetched(volume, whole.store, manifest)
    expect([failure, whole.asked[0]]).toEqual([undefined, 1])
    expect(told.at(-1)).toMatch(/MiB are fetched again: what was there of that is not what had come 100$/)
    expect(await contentOf(volume.folder)).toEqual(files)
  })
})

async function damage(
  path: string,
  { what, at, flip }: { readonly what: string; readonly at: number; readonly flip: number },
): Promise<void> {
  const { size } = await stat(path)
  if (what === 'remove') return rm(path)
  if (what === 'add') return writeFile(`${path}.more`, 'somebody else’s')
  if (what === 'lengthen') return appendFile(path, Buffer.alloc(1 + (at % 700), flip))
  if (what === 'cut') return truncate(path, size === 0 ? 0 : at % size)
  const bytes = await readFile(path)
  if (size === 0) return
  bytes[at % size] = (bytes[at % size] ?? 0) ^ flip
  await writeFile(path, bytes)
}

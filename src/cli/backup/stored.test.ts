import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, it, onTestFinished, vi } from 'vitest'
import { keyOf } from '#backup/objects/object-key.ts'
import { manifestText } from '#backup/objects/manifest.ts'
import { aManifest } from '#backup/objects/testing.ts'
import { lineageOf } from '#backup/keys/lineage.ts'
import { ownerText } from '#backup/objects/owner.ts'
import { openBackupStore } from '#backup/transfer/open-backup-store.ts'
import { writeParts } from '#backup/transfer/write-parts.ts'
import { verificationText } from '#backup/objects/verification.ts'
import { writeCluster } from '#local/folder/cluster-file.ts'
import { layoutOf } from '#local/folder/state-layout.ts'
import { clusterIn, temporaryFolder } from '#local/testing.ts'
import type { Io } from '../terminal/io.ts'
import { deleteBackup, pruneBackups } from './remove.ts'
import { listBackups } from './stored.ts'
import { verifyStored } from './verify.ts'
import { showWindow } from './window.ts'

const names = ['20261101T030000Z', '20261102T030000Z', '20261103T030000Z', '20261104T030000Z'] as const
const [first, second] = names
const { lineage } = aManifest()
let folder = ''

/** Four whole backups; the first was restored once, and a run of long ago did not finish. */
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'regent-stored-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const store = await openBackupStore({ address: folder })
  for (const [at, name] of names.entries()) {
    const key = (part: number) => keyOf({ kind: 'part', cluster: 'shop', name, part })
    const signal = new AbortController().signal
    const content = (async function* () {
      yield Buffer.from(`data of ${name}`)
    })()
    const written = await writeParts(content, { store, keyOf: key, key: null, signal, progress: () => undefined })
    const startedAtMs = Date.UTC(2026, 10, 1 + at, 3)
    const times = { startedAtMs, endedAtMs: startedAtMs + 1_000, storedAtMs: startedAtMs + 2_000 }
    const manifest = manifestText(aManifest({ ...times, ...written, name }))
    await store.putIfAbsent(keyOf({ kind: 'manifest', cluster: 'shop', name }), Buffer.from(manifest))
  }
  const owner = ownerText({ formatVersion: 1, cluster: 'shop', lineage, claimedAtMs: 0 })
  await store.putIfAbsent(keyOf({ kind: 'owner', cluster: 'shop' }), Buffer.from(owner))
  const proof = { formatVersion: 1, verifiedAtMs: Date.UTC(2026, 10, 2), restoreMs: 12_000, gtids: '' } as const
  const place = { ...aManifest(), name: first, key: null }
  const verified = verificationText({ ...proof, reachedMs: 0, tables: 3, rows: 4 }, place)
  await store.putIfAbsent(keyOf({ kind: 'verified', cluster: 'shop', name: first }), Buffer.from(verified))
  store.close()
})

async function ran(command: (io: Io) => Promise<void>, notes: string[] = []): Promise<string> {
  const lines: string[] = []
  const io = {
    out: (line: string) => void lines.push(line),
    note: (line: string) => void notes.push(line),
    env: {},
    colour: false,
    terminal: false,
  }
  await command({ ...io, interrupted: () => new AbortController().signal })
  return lines.join('\n')
}

const options = (more: object = {}) => ({ output: 'text' as const, from: folder, cluster: 'shop', lineage, ...more })
const whole = async () => (await readdir(join(folder, 'shop/base'))).toSorted()

it('The list says which backups were verified', async () => {
  const lines = (await ran((io) => listBackups(io, 'shop', options()))).split('\n')
  expect(lines[0]).toMatch(/VERIFIED$/)
  expect(lines[1]).toMatch(/2026-11-02 00:00:00 UTC, 12 s$/)
  expect(lines[2]).toMatch(/no$/)
  const json = JSON.parse(await ran((io) => listBackups(io, 'shop', options({ output: 'json' })))) as {
    readonly backups: readonly { readonly verified: unknown }[]
  }
  expect(json.backups.map(({ verified }) => verified !== null)).toEqual([true, false, false, false])
})

it('With a key what is not encrypted is refused, and the list says so', async () => {
  const keyFile = join(folder, 'keys')
  await writeFile(keyFile, `${'a'.repeat(64)}\n${'b'.repeat(64)}\n`)
  const lines = (await ran((io) => listBackups(io, 'shop', options({ keyFile })))).split('\n')
  expect(lines[1]).toContain('no: refused')
  await expect(ran((io) => verifyStored(io, first, options({ keyFile })))).rejects.toThrow(
    `backup ${first} is not encrypted, and a key is given`,
  )
  expect(await ran((io) => verifyStored(io, first, options({ keyFile, allowPlain: true })))).toContain(
    'as it was stored',
  )
  expect(await ran((io) => showWindow(io, 'shop', options({ keyFile })))).toContain('nothing, since no backup is whole')
  await writeFile(keyFile, `${'a'.repeat(64)}\n${'b'.repeat(63)}\n`)
  await expect(ran((io) => listBackups(io, 'shop', options({ keyFile })))).rejects.toThrow('holds no key of backups')
})

it('With a key a backup counts as verified where that is signed, and the list says why it does not', async () => {
  const keyFile = join(folder, 'keys')
  await writeFile(keyFile, 'a'.repeat(64))
  const list = async (notes: string[], allowPlain?: true) =>
    (await ran((io) => listBackups(io, 'shop', options({ keyFile, allowPlain })), notes)).split('\n')[1]
  const notes: string[] = []
  expect(await list(notes)).toMatch(/no: refused +no$/)
  expect(notes).toEqual([
    expect.stringContaining(`the word that backup ${first} was verified is not signed, and a key is given`),
  ])
  expect(await list([], true)).toMatch(/2026-11-02 00:00:00 UTC, 12 s$/)
})

it('A manifest that was changed hides no other backup from the list', async () => {
  const path = join(folder, keyOf({ kind: 'manifest', cluster: 'shop', name: second }))
  await writeFile(path, (await readFile(path, 'utf8')).replace('shop-1', 'shop-2'))
  const notes: string[] = []
  const lines = (await ran((io) => listBackups(io, 'shop', options()), notes)).split('\n')
  expect(lines.slice(1).map((line) => line.split(' ')[0])).toEqual(names.filter((name) => name !== second))
  expect(notes).toEqual([expect.stringContaining(`manifest of ${second} cannot be used: the content was changed`)])
})

it('A backup is read to its end, and one byte that was changed is found', async () => {
  expect(await ran((io) => verifyStored(io, first, options()))).toContain(
    `backup ${first} of shop is as it was stored: 1 part`,
  )
  const part = join(folder, keyOf({ kind: 'part', cluster: 'shop', name: first, part: 1 }))
  const bytes = await readFile(part)
  bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1
  await writeFile(part, bytes)
  await expect(ran((io) => verifyStored(io, first, options()))).rejects.toThrow()
})

it('An encrypted backup is not read without its key', async () => {
  const name = '20261105T030000Z'
  const keyId = createHash('sha256').update('any').digest('hex').slice(0, 16)
  const encryption = { scheme: 'aes-256-gcm', keyId, salt: '0'.repeat(64), signature: '0'.repeat(64) } as const
  const store = await openBackupStore({ address: folder })
  const text = manifestText(aManifest({ endedAtMs: Date.UTC(2026, 10, 5, 4), name, encryption }))
  await store.putIfAbsent(keyOf({ kind: 'manifest', cluster: 'shop', name }), Buffer.from(text))
  store.close()
  await expect(ran((io) => verifyStored(io, name, options()))).rejects.toThrow(
    `backup ${name} is encrypted with key ${keyId}: give the file of that key with --key-file`,
  )
})

it('A backup is deleted whole; the newest verified one and the only whole one by force alone', async () => {
  await expect(ran((io) => deleteBackup(io, first, options()))).rejects.toThrow('is the newest that was verified')
  await expect(ran((io) => deleteBackup(io, '20260101T000000Z', options()))).rejects.toThrow('has no backup')
  expect(await ran((io) => deleteBackup(io, second, options({ dryRun: true })))).toContain(`dry run: backup ${second}`)
  expect(await whole()).toEqual(names)
  for (const name of names.slice(1)) await ran((io) => deleteBackup(io, name, options()))
  expect(await whole()).toEqual([first])
  await expect(ran((io) => deleteBackup(io, first, options()))).rejects.toThrow('is the only whole one')
  await ran((io) => deleteBackup(io, first, options({ force: true })))
  expect(await ran((io) => listBackups(io, 'shop', options()))).toBe(`${folder} has no backup of shop`)
})

it('In the folder of another cluster, or of one that nobody here knows, nothing is deleted', async () => {
  const home = await temporaryFolder()
  vi.stubEnv('REGENT_HOME', home)
  onTestFinished(() => void vi.unstubAllEnvs())
  const removals = (more: object) => [
    (io: Io) => deleteBackup(io, second, options(more)),
    (io: Io) => pruneBackups(io, 'shop', options(more)),
  ]
  const refused = async (more: object, why: string) => {
    for (const removal of removals(more)) await expect(ran(removal)).rejects.toThrow(why)
    for (const removal of removals({ ...more, dryRun: true })) expect(await ran(removal)).toContain('dry run: ')
  }
  await refused({ lineage: undefined }, 'cluster shop does not run here')
  await refused({ lineage: 'ffeeddccbbaa9988' }, `another cluster of that name (lineage ${lineage})`)
  const dir = join(home, 'shop')
  await mkdir(join(dir, 'secrets'), { recursive: true })
  await writeCluster(dir, clusterIn(dir))
  await writeFile(layoutOf(dir).accountSecret, 'a secret\n')
  await writeFile(layoutOf(dir).spec, JSON.stringify({ version: 1 }))
  await refused({ lineage: undefined }, `another cluster of that name (lineage ${lineage})`)
  const owner = join(folder, keyOf({ kind: 'owner', cluster: 'shop' }))
  await rm(owner)
  await refused({ lineage: undefined }, 'nobody has claimed folder shop/')
  expect(await whole()).toEqual(names)
  const own = { formatVersion: 1, cluster: 'shop', lineage: lineageOf('a secret'), claimedAtMs: 0 } as const
  await writeFile(owner, ownerText(own))
  await ran((io) => deleteBackup(io, second, options({ lineage: undefined })))
  expect(await whole()).not.toContain(second)
})

it('A run that may be under way is deleted by force alone', async () => {
  const [running, old] = ['20261106T030000Z', '20261106T040000Z']
  const store = await openBackupStore({ address: folder })
  for (const name of [running, old])
    await store.putIfAbsent(keyOf({ kind: 'begun', cluster: 'shop', name }), Buffer.from('{}'))
  store.close()
  const longAgo = new Date(Date.now() - 25 * 3_600_000)
  await utimes(join(folder, keyOf({ kind: 'begun', cluster: 'shop', name: old })), longAgo, longAgo)
  await ran((io) => deleteBackup(io, old, options()))
  await expect(ran((io) => deleteBackup(io, running, options()))).rejects.toThrow(
    `run ${running} may still be writing: its newest object is less than a minute old: --force deletes that all the same`,
  )
  expect(await whole()).toEqual([...names, running])
  await ran((io) => deleteBackup(io, running, options({ force: true })))
  expect(await whole()).toEqual(names)
})

it('What retention leaves is said with the reason, and deleted where that is no dry run', async () => {
  // By the defaults each of four days keeps one.
  const said = await ran((io) => pruneBackups(io, 'shop', options({ dryRun: true })))
  expect(said).toContain(`dry run: backup ${first} is the newest that was verified (kept`)
  expect(said).toContain('nothing is to be deleted of 4 items')
  expect(await whole()).toEqual(names)
})

it('Retention is that of the spec where the cluster is here, also for a store that is named', async () => {
  const home = await temporaryFolder()
  vi.stubEnv('REGENT_HOME', home)
  onTestFinished(() => void vi.unstubAllEnvs())
  const dir = join(home, 'shop')
  await mkdir(dir)
  await writeCluster(dir, clusterIn(dir))
  const backup = { store: { address: folder }, retention: { last: 1, days: 0, weeks: 0 } }
  await writeFile(layoutOf(dir).spec, JSON.stringify({ version: 1, backup }))
  const said = await ran((io) => pruneBackups(io, 'shop', options({ dryRun: true })))
  expect(said).toContain(`backup ${second} is beyond what stays: the newest 1, of 0 days and of 0 weeks`)
})

it('The window without an archive is the backups themselves', async () => {
  const said = await ran((io) => showWindow(io, 'shop', options()))
  expect(said).toContain(`cluster shop can be restored to: backup ${names[3]} as it is`)
  const json = JSON.parse(await ran((io) => showWindow(io, 'shop', options({ output: 'json' })))) as object
  expect(json).toMatchObject({ cluster: 'shop', spans: [], alone: names.toReversed(), holes: [] })
})

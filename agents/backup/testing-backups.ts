import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { expect, onTestFinished } from 'vitest'
import { KeyRing } from '#backup/keys/key-ring.ts'
import { manifestText, type Manifest } from '#backup/objects/manifest.ts'
import { keyOf } from '#backup/objects/object-key.ts'
import { openingText } from '#backup/objects/opening.ts'
import { writeStored } from '#backup/objects/stored-json.ts'
import { aPiece } from '#backup/objects/testing.ts'
import { sized } from '#backup/stream/sized.ts'
import { readParts } from '#backup/transfer/read-parts.ts'
import { readManifest } from '#backup/transfer/stored-manifests.ts'
import { writeParts } from '#backup/transfer/write-parts.ts'
import { MemoryStore } from '#object-store/testing-store.ts'
import type { ThrowAwayPort } from '../ports/throw-away.ts'
import { parseGtidSet } from '#topology/gtid/gtid-set.ts'
import { aServerState, replicaOfEpoch3, ScriptedProcess, ScriptedServer, testParts } from '../testing.ts'
import { BackUp } from './back-up.ts'

export const mebibyte = 1_048_576
export const key = createHash('sha256').update('a key').digest()
export const name = '20261126T031209Z'
export const lineage = '00112233445566778899aabbccddeeff'
export const said = {
  version: 1,
  cluster: 'shop',
  member: 'shop-0@volume',
  name,
  store: { address: 'memory' },
} as const

/** Nothing is replayed where there is no archive. */
export const throwAway: ThrowAwayPort = {
  start: () => Promise.reject(new Error('a server was started')),
  endLeftover: async () => undefined,
}

/** Puts a piece of the archive behind a backup. The piece says that its binary log has so many bytes. */
export function addPiece(store: MemoryStore, { epoch, gtids }: Manifest, rawBytes: number): void {
  const opening = openingText({ epoch, instance: 'shop-0', atMs: 1, gtids })
  store.objects.set(keyOf({ kind: 'opening', cluster: 'shop', epoch }), Buffer.from(opening))
  const preceding = parseGtidSet(gtids).count()
  const piece = aPiece({ epoch, from: 1, to: 1, preceding, firstMs: 4e12, lastMs: 4e12 })
  const head = Buffer.from(writeStored({ formatVersion: 1, rawBytes, encryption: null }))
  const length = Buffer.alloc(4)
  length.writeUInt32BE(head.length)
  store.objects.set(keyOf({ kind: 'piece', cluster: 'shop', piece }), Buffer.concat([length, head]))
}

export async function aFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'regent-backup-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** Content by path. */
export type Files = Readonly<Record<string, Buffer>>

/** A replica whose server copies itself into two files, and more. */
export async function aReplica(
  store: MemoryStore,
  { withKey = null as Buffer | null, of = lineage, content = Buffer.alloc(3 * mebibyte, 'x'), more = {} } = {},
) {
  const folder = join(await aFolder(), 'data.stream')
  const server = new ScriptedServer({ ...aServerState(), readOnly: true, superReadOnly: true, offlineMode: false })
  server.cloneLocal = async (to) => {
    await mkdir(to)
    await writeFile(join(to, 'mysql.ibd'), 'dictionary')
    await writeFile(join(to, 'ibdata1'), content)
    for (const [file, bytes] of Object.entries<Buffer>(more)) {
      await mkdir(dirname(join(to, file)), { recursive: true })
      await writeFile(join(to, file), bytes)
    }
  }
  const parts = await testParts(server, {
    process: new ScriptedProcess(),
    volume: {
      dataBytes: async () => 10 * mebibyte,
      probe: async () => ({ freeBytes: 1_000 * mebibyte, failure: null, detail: '' }),
      freshStreamFolder: async () => folder,
      hasStreamFolder: async () => existsSync(folder),
      dropStreamFolder: () => rm(folder, { recursive: true, force: true }),
    },
  })
  await parts.file.update({ promise: 3, assignment: replicaOfEpoch3 })
  await parts.observer.refresh()
  const backUp = new BackUp(parts, {
    lineage: of,
    open: async () => ({ store, key: withKey && new KeyRing([withKey]) }),
  })
  return { parts, backUp, folder, server }
}

/** The same backup in parts of so many bytes, which begin and end wherever that is. */
export async function inSmallParts(store: MemoryStore, partBytes: number): Promise<Manifest> {
  const manifest = await readManifest(store, 'shop', name)
  const partKey = (part: number) => keyOf({ kind: 'part', cluster: 'shop', name, part })
  const how = { store, keyOf: partKey, key: null, signal: new AbortController().signal }
  const stream = await buffer(readParts(manifest, how))
  const chunks = sized(Readable.from([stream]), partBytes)
  const parts = await writeParts(chunks, { ...how, partBytes, progress: () => undefined })
  const again = { ...manifest, ...parts }
  store.objects.set(keyOf({ kind: 'manifest', cluster: 'shop', name }), Buffer.from(manifestText(again)))
  return again
}

export async function ended({ parts }: Awaited<ReturnType<typeof aReplica>>) {
  for (;;) {
    const { backup } = parts.jobs
    if (backup?.stage === 'done' || backup?.stage === 'failed') return backup
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

export async function backedUp(withKey: Buffer | null = null) {
  const store = new MemoryStore()
  const replica = await aReplica(store, { withKey })
  replica.backUp.begin(said)
  expect(await ended(replica)).toMatchObject({ stage: 'done', sentence: '' })
  return { store, replica }
}

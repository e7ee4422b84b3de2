import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { gtidsOf } from '#backup/objects/piece-name.ts'
import { aManifest } from '#backup/objects/testing.ts'
import { manifestText } from '#backup/objects/manifest.ts'
import { keyOf, parseKey } from '#backup/objects/object-key.ts'
import { readPiece } from '#backup/transfer/read-piece.ts'
import { readArchive } from '#backup/transfer/stored-archive.ts'
import type { KeyRing } from '#backup/keys/key-ring.ts'
import type { MemoryStore } from '#object-store/testing-store.ts'
import { binlogFile, dml, previousGtids, uuid } from '#test/support/synthetic-binlog.ts'
import { GtidSet } from '#topology/gtid/gtid-set.ts'
import { listBinlogs, previousGtids as readPrevious } from '#agents/binlog/set.ts'
import { readRange, visitTransactions } from '#agents/binlog/transactions.ts'
import { learn } from '#agents/instance/learn.ts'
import type { BinlogArchiveKnown } from '#agents/instance/known.ts'
import {
  aServerState,
  primaryOfEpoch3,
  replicaOfEpoch3,
  ScriptedProcess,
  ScriptedServer,
  testParts,
} from '#agents/testing.ts'
import { BinlogArchiver } from './binlog-archiver.ts'
import { HoleCloser } from './hole-closer.ts'

export const task = {
  store: { address: 'memory' },
  retention: { last: 1, days: 0, weeks: 0 },
  archive: { everySeconds: 5 },
}

/** A primary whose binlogs a test writes. */
export async function aPrimary(store: MemoryStore, epoch = 3, key: KeyRing | null = null) {
  const here = await anInstance('shop-0')
  await here.parts.file.update({ volume: '0a1b2c', promise: epoch, assignment: { ...primaryOfEpoch3, epoch } })
  const archiver = new BinlogArchiver(here.parts, portTo(store, key))
  return { ...here, archiver, seen: (): BinlogArchiveKnown | null => here.parts.jobs.binlogArchive }
}

/** A replica of the same epoch. */
export async function aReplica(store: MemoryStore) {
  const here = await anInstance('shop-1')
  await here.parts.file.update({ volume: '0a1b2c', promise: 3, assignment: replicaOfEpoch3 })
  return { ...here, closer: new HoleCloser(here.parts, portTo(store)) }
}

export function portTo(store: MemoryStore, key: KeyRing | null = null) {
  return { lineage: '00112233445566778899aabbccddeeff', open: async () => ({ store, key }) }
}

async function anInstance(instance: string) {
  const dir = await mkdtemp(join(tmpdir(), 'regent-archiver-'))
  onTestFinished(() => rm(dir, { recursive: true, force: true }))
  const server = new ScriptedServer(aServerState())
  let passedMs = 0
  const made = await testParts(server, {
    process: new ScriptedProcess(),
    volume: {
      listBinlogs: () => listBinlogs(dir),
      previousGtids: (name) => readPrevious(join(dir, name)),
      visitBinlog: (name, from, visit, signal) => visitTransactions(join(dir, name), from, visit, signal),
      readBinlog: ({ name, ...range }) => readRange(join(dir, name), range),
    },
  })
  const { clock } = made.world
  const monotonicMs = () => clock.monotonicMs() + passedMs
  const world = { ...made.world, clock: { ...clock, wallMs: () => clock.wallMs(), monotonicMs } }
  const parts = { ...made, world, config: { ...made.config, instance } }
  learn(parts, { fact: 'backupsTold', task })

  /** Sets the primary's files, by the numbers of their transactions. Transactions below the first number are purged. */
  const has = async (files: readonly (readonly number[])[], upTo: number) => {
    const names = files.map((_, at) => `binlog.${String(at + 1).padStart(6, '0')}`)
    for (const [at, numbers] of files.entries()) {
      const first = numbers[0] ?? upTo + 1
      const content = binlogFile(
        numbers.flatMap((number) => dml(number, 40, 1_795_000_000_000 + number * 1_000)),
        { previous: previousGtids(first > 1 ? [[1, first - 1]] : []) },
      )
      await writeFile(join(dir, names[at] ?? ''), content)
    }
    await writeFile(join(dir, 'binlog.index'), names.map((name) => `./${name}\n`).join(''))
    const purged = (files[0]?.[0] ?? 1) - 1
    server.state = {
      ...server.state,
      executed: upTo === 0 ? '' : `${uuid}:1-${upTo}`,
      purged: purged === 0 ? '' : `${uuid}:1-${purged}`,
    }
    await parts.observer.refresh()
  }
  return { parts, server, has, passes: (ms: number) => (passedMs += ms) }
}

export const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, at) => from + at)

export async function shipped(store: MemoryStore): Promise<string> {
  const { pieces } = await readArchive(store, 'shop')
  for (const piece of pieces)
    for await (const { bytes } of readPiece({ store, cluster: 'shop', lineage: null, piece, key: null }))
      expect(bytes.length).toBeGreaterThan(0)
  return pieces.reduce((all, piece) => all.union(gtidsOf(piece)), GtidSet.empty).toString()
}

/** The numbers in the pieces of an epoch, as `5-8`, in their order. */
export function piecesIn({ objects }: MemoryStore, epoch: number): readonly string[] {
  const pieces = [...objects.keys()].flatMap((key) => {
    const found = parseKey(key)
    return found?.kind === 'piece' && found.piece.epoch === epoch ? [found.piece] : []
  })
  return pieces.toSorted((one, other) => Number(one.from) - Number(other.from)).map(({ from, to }) => `${from}-${to}`)
}

export async function withBackup(store: MemoryStore, upTo: number): Promise<void> {
  const manifest = aManifest({ gtids: `${uuid}:1-${upTo}`, epoch: 3 })
  await store.putIfAbsent(
    keyOf({ kind: 'manifest', cluster: 'shop', name: manifest.name }),
    Buffer.from(manifestText(manifest)),
  )
}

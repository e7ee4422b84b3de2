import { backupName } from '#backup/objects/backup-name.ts'
import { keyOf } from '#backup/objects/object-key.ts'
import { manifestText } from '#backup/objects/manifest.ts'
import { ownerText } from '#backup/objects/owner.ts'
import { aManifest, aPiece } from '#backup/objects/testing.ts'
import { verificationText } from '#backup/objects/verification.ts'
import { realWorld } from '#common/ports/real-world.ts'
import type { BackupTask } from '#failover/protocol/backup-task.ts'
import type { ObjectStore } from '#object-store/object-store.ts'
import { MemoryStore } from '#object-store/testing-store.ts'
import { learn } from '../instance/learn.ts'
import { aServerState, primaryOfEpoch3, ScriptedServer, testParts, watcherOf } from '../testing.ts'
import { RetentionWatch } from './retention-watch.ts'
import { StoreWatch } from './store-watch.ts'
import { lineage } from './testing-backups.ts'

export const hourMs = 3_600_000
export const firstMs = Date.parse('2026-11-20T03:00:00Z')
/** A backup of each hour, the oldest first. */
export const nameOf = (at: number) => backupName(firstMs + at * hourMs)
export const all = [0, 1, 2, 3, 4]

/** The name of a piece with a hundred transactions behind a backup. */
export const pieceBehind = (at: number) =>
  keyOf({
    kind: 'piece',
    cluster: 'shop',
    piece: aPiece({ from: at * 100 + 1, to: (at + 1) * 100, preceding: at * 100 }),
  })

export const ownerKey = keyOf({ kind: 'owner', cluster: 'shop' })

export function putText(store: MemoryStore, key: string, text: string): void {
  store.objects.set(key, Buffer.from(text))
}

/** Puts the manifest of a whole backup that holds these transactions. */
export function putManifest(store: MemoryStore, at: number, gtids?: string): void {
  const [name, startedAtMs] = [nameOf(at), firstMs + at * hourMs]
  const times = { startedAtMs, endedAtMs: startedAtMs + 60_000, storedAtMs: startedAtMs + 90_000 }
  const manifest = aManifest({ ...times, name, ...(gtids !== undefined && { gtids }) })
  putText(store, keyOf({ kind: 'manifest', cluster: 'shop', name }), manifestText(manifest))
}

/** A store with five whole backups and one run that did not finish, each of a few objects. */
export function fiveBackups(whose = lineage): MemoryStore {
  const store = new MemoryStore()
  const owner = { formatVersion: 1, cluster: 'shop', claimedAtMs: 0, lineage: whose } as const
  putText(store, ownerKey, ownerText(owner))
  // By the store's clock everything else is old.
  store.modifiedMs.set(ownerKey, firstMs + 100 * hourMs)
  for (const at of all) {
    const name = nameOf(at)
    putText(store, keyOf({ kind: 'begun', cluster: 'shop', name }), '{}')
    for (const part of [1, 2]) putText(store, keyOf({ kind: 'part', cluster: 'shop', name, part }), 'data')
    putManifest(store, at)
  }
  putText(store, keyOf({ kind: 'begun', cluster: 'shop', name: backupName(firstMs - hourMs) }), '{}')
  return store
}

/** Puts the proof that a rehearsal restored a backup. */
export function putProof(store: MemoryStore, name: string): void {
  const proof = { verifiedAtMs: 1, restoreMs: 1, gtids: '', reachedMs: 1, tables: 1, rows: 1 }
  const text = verificationText({ formatVersion: 1, ...proof }, { cluster: 'shop', lineage, name, key: null })
  putText(store, keyOf({ kind: 'verified', cluster: 'shop', name }), text)
}

const twoLast: BackupTask = {
  store: { address: 'memory' },
  retention: { last: 2, days: 0, weeks: 0 },
  archive: { everySeconds: 5 },
}

interface Retaining {
  readonly assignment?: object
  readonly task?: BackupTask
  /** The wall clock at the agent's start. */
  readonly wallMs?: number
}

/** An agent that looks into the store, and deletes what the rule leaves, at each turn. */
export async function retaining(
  store: ObjectStore,
  { assignment = primaryOfEpoch3, task = twoLast, wallMs = firstMs + 100 * hourMs }: Retaining = {},
) {
  let nowMs = 1_000
  const parts = await testParts(new ScriptedServer(aServerState()))
  const clock = { monotonicMs: () => nowMs, wallMs: () => wallMs + nowMs }
  Object.assign(parts, { world: { ...realWorld, clock } })
  await parts.file.update({ promise: 3, assignment: assignment as typeof primaryOfEpoch3 })
  learn(parts, { fact: 'backupsTold', task })
  learn(parts, { fact: 'converged', done: true })
  const port = { lineage, open: async () => ({ store, key: null }) }
  const [seen, retention] = [new StoreWatch(parts, port), new RetentionWatch(parts, port)].map((one) =>
    watcherOf(parts, one),
  )
  const turn = async () => {
    learn(parts, { fact: 'leaderHeard', atMs: nowMs })
    await seen?.look()
    await retention?.look()
  }
  return {
    parts,
    turn,
    retention,
    later: async (ms: number) => ((nowMs += ms), turn()),
    passes: (ms: number) => void (nowMs += ms),
  }
}

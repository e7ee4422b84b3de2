import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { MemoryStore } from '#object-store/testing-store.ts'
import { keyOf } from '#backup/objects/object-key.ts'
import { manifestText, parseManifest, signedText, type Manifest } from '#backup/objects/manifest.ts'
import { openingText } from '#backup/objects/opening.ts'
import { writeStored } from '#backup/objects/stored-json.ts'
import { dataKeys, keyIdOf, signatureOf } from '#backup/keys/data-key.ts'
import { KeyRing } from '#backup/keys/key-ring.ts'
import { aManifest, aPiece } from '#backup/objects/testing.ts'
import { parseGtidSet } from '#topology/gtid/gtid-set.ts'
import { parseVerification } from '#backup/objects/verification.ts'
import { unpack } from '#agents/lifecycle/copy/unpack.ts'
import type { AnsweredRow, ThrowAwayPort } from '#agents/ports/throw-away.ts'
import { aServerState, replicaOfEpoch3, ScriptedProcess, ScriptedServer, testParts } from '#agents/testing.ts'
import { nothingKnown } from '#agents/instance/known.ts'
import { Notices } from '#agents/instance/notices.ts'
import type { Parts } from '#agents/instance/parts.ts'
import { RunLog } from '#agents/instance/run-log.ts'
import type { BackupPort } from '#agents/ports/backup-port.ts'
import { BackUp } from '../back-up.ts'
import { addPiece } from '../testing-backups.ts'
import { Rehearsing } from './rehearsing.ts'

const mebibyte = 1_048_576
const lineage = '00112233445566778899aabbccddeeff'
const backupName = '20261126T031209Z'
const said = { version: 1, cluster: 'shop', member: 'shop-0@volume', store: { address: 'memory' } } as const

function saidOf(folder: string | undefined) {
  return folder === undefined ? said : { ...said, store: { ...said.store, folder } }
}

/** A replica with a whole backup of its server in the store; the throw-away server answers CHECK TABLE so. */
async function aRehearser(
  check: AnsweredRow,
  freeBytes = 1e12,
  inFolder?: string,
  { key, ...sums }: { readonly key?: KeyRing; readonly x: string; readonly s: string } = { x: '7', s: '9' },
) {
  const folder = await mkdtemp(join(tmpdir(), 'regent-rehearsing-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const server = new ScriptedServer({ ...aServerState(), readOnly: true, superReadOnly: true, offlineMode: false })
  server.stillView = async () => ({
    gtids: server.state.executed,
    there: [{ inSchema: 'app', name: 'orders' }],
    query: async () => [{ n: 42, ...sums }],
    end: () => undefined,
  })
  server.cloneLocal = async (to) => {
    await mkdir(to)
    await writeFile(join(to, 'mysql.ibd'), 'dictionary')
  }
  const [stream, rehearsal] = [join(folder, 'data.stream'), join(folder, 'data.rehearsal')]
  const ended: string[] = []
  const throwAway: ThrowAwayPort = {
    start: async (of) => {
      expect(await readdir(of)).toContain('mysql.ibd')
      return {
        query: async (statement) => answers(statement, check),
        shutDown: async () => void ended.push('in order'),
        kill: async () => void ended.push('killed'),
      }
    },
    endLeftover: async () => undefined,
  }
  const store = new MemoryStore()
  const parts = await testParts(server, {
    process: new ScriptedProcess(),
    volume: {
      dataBytes: async () => mebibyte,
      probe: async () => ({ freeBytes, failure: null, detail: '' }),
      freshStreamFolder: async () => stream,
      hasStreamFolder: async () => existsSync(stream),
      dropStreamFolder: () => rm(stream, { recursive: true, force: true }),
      freshRehearsalFolder: async () => rehearsal,
      hasRehearsalFolder: async () => existsSync(rehearsal),
      dropRehearsalFolder: () => rm(rehearsal, { recursive: true, force: true }),
      unpackInto: async (to, { read }) => {
        await mkdir(to)
        await unpack(
          read(() => undefined),
          to,
          () => false,
        )
      },
    },
  })
  await parts.file.update({ promise: 3, assignment: replicaOfEpoch3 })
  await parts.observer.refresh()
  const port = { lineage, open: async () => ({ store, key: key ?? null }), throwAway }
  new BackUp(parts, port).begin({ ...saidOf(inFolder), name: backupName })
  await expect.poll(() => parts.jobs.backup?.stage).toBe('done')
  return { parts, store, rehearsal, ended, port, rehearsing: new Rehearsing(parts, port) }
}

function answers(statement: string, check: AnsweredRow): readonly AnsweredRow[] {
  if (statement.startsWith('SELECT TABLE_SCHEMA')) return [{ inSchema: 'app', name: 'orders' }]
  if (statement.startsWith('CHECK TABLE')) return [check]
  if (statement.startsWith('SHOW COLUMNS')) return [{ Field: 'id' }]
  if (statement.startsWith('SELECT @@GLOBAL.gtid_executed')) return [{ executed: aServerState().executed }]
  if (statement.includes('BIT_XOR')) return [{ n: 42, x: '7', s: '9' }]
  return statement.startsWith('SELECT COUNT') ? [{ rows_there: 42 }] : []
}

async function rehearsed({ parts, rehearsing }: Awaited<ReturnType<typeof aRehearser>>, inFolder?: string) {
  rehearsing.begin({ ...saidOf(inFolder), name: '20261129T040000Z' })
  await expect.poll(() => parts.jobs.rehearsal?.stage).toMatch(/^(done|failed)$/)
  return parts.jobs.rehearsal
}

function putManifest(store: MemoryStore, name: string, text: string): void {
  store.objects.set(keyOf({ kind: 'manifest', cluster: 'shop', name }), Buffer.from(text))
}

function manifestIn(store: MemoryStore): Manifest {
  const text = String(store.objects.get(keyOf({ kind: 'manifest', cluster: 'shop', name: backupName })))
  return parseManifest(text, { cluster: 'shop', name: backupName })
}

/** The same backup as an older Regent wrote the manifest. */
function asOlder(store: MemoryStore, key: KeyRing): Manifest {
  const { encryption, ...manifest } = { ...manifestIn(store), formatVersion: 1 as const }
  if (encryption === null) throw new Error('the backup is plain')
  const signature = signatureOf(signedText(manifest), dataKeys(key.first, Buffer.from(encryption.salt, 'hex')))
  const older = { ...manifest, encryption: { ...encryption, signature } }
  putManifest(store, backupName, manifestText(older))
  return older
}

/** What an older Regent shipped behind a backup: the name is not signed. The opening was signed since. */
async function withUnsignedPiece(store: MemoryStore, key: KeyRing, { epoch, gtids }: Manifest): Promise<void> {
  const opening = openingText({ epoch, instance: 'shop-0', atMs: 1, gtids }, { cluster: 'shop', key })
  store.objects.set(keyOf({ kind: 'opening', cluster: 'shop', epoch }), Buffer.from(opening))
  const preceding = parseGtidSet(gtids).count()
  const piece = aPiece({ epoch, from: 1, to: 1, preceding, firstMs: 4e12, lastMs: 4e12 })
  const encryption = { scheme: 'aes-256-gcm', keyId: keyIdOf(key.first), salt: '0'.repeat(64) }
  const head = Buffer.from(writeStored({ formatVersion: 1, rawBytes: 9, encryption }))
  const length = Buffer.alloc(4)
  length.writeUInt32BE(head.length)
  store.objects.set(keyOf({ kind: 'piece', cluster: 'shop', piece }), Buffer.concat([length, head]))
}

const verified = `shop/base/${backupName}/verified.json`

describe('A rehearsal', () => {
  it('whose tables are whole says so beside the backup, and leaves no folder', async () => {
    const replica = await aRehearser({ Msg_type: 'status', Msg_text: 'OK' })
    expect(await rehearsed(replica)).toMatchObject({ stage: 'done' })
    const place = { cluster: 'shop', lineage, name: backupName, key: null }
    const stored = parseVerification(String(replica.store.objects.get(verified)), place)
    expect(stored).toMatchObject({ tables: 1, rows: 42, compared: 1 })
    expect(replica.ended).toEqual(['in order'])
    // The folder goes right after the proof is told of.
    await expect.poll(() => existsSync(replica.rehearsal)).toBe(false)
    expect(replica.parts.notices.list.map(({ code }) => code)).toContain('BackupVerified')
  })

  it('signs with the key of the store what is said so', async () => {
    const key = new KeyRing([randomBytes(32)])
    const replica = await aRehearser({ Msg_type: 'status', Msg_text: 'OK' }, 1e12, undefined, { x: '7', s: '9', key })
    expect(await rehearsed(replica)).toMatchObject({ stage: 'done' })
    const place = { cluster: 'shop', lineage, name: backupName, key }
    expect(parseVerification(String(replica.store.objects.get(verified)), place)).toMatchObject({ rows: 42 })
  })

  const good = { Msg_type: 'status', Msg_text: 'OK' }
  const aKeyed = async () => {
    const key = new KeyRing([randomBytes(32)])
    return { key, ...(await aRehearser(good, 1e12, undefined, { x: '7', s: '9', key })) }
  }

  it('with a key leaves out a newer backup that is not encrypted, says so, and rehearses the newest that can be', async () => {
    const replica = await aKeyed()
    const plain = aManifest({ name: '20990101T000000Z', endedAtMs: Date.parse('2099-01-01T00:10:00Z') })
    putManifest(replica.store, plain.name, manifestText(plain))
    const { stage, sentence } = (await rehearsed(replica)) ?? {}
    expect([stage, replica.store.objects.has(verified)]).toEqual(['done', true])
    expect(sentence).toMatch(
      /^backup 20261126T031209Z is verified: .*; a newer backup is left out: backup 20990101T000000Z is not encrypted, and a key is given: /,
    )
  })

  it('of a backup of an older Regent ends before what that one shipped without a signature, and says so', async () => {
    const replica = await aKeyed()
    const { key, store } = replica
    await withUnsignedPiece(store, key, asOlder(store, key))
    const { stage, sentence } = (await rehearsed(replica)) ?? {}
    expect([stage, store.objects.has(verified)]).toEqual(['done', true])
    expect(sentence).toMatch(/^backup 20261126T031209Z is verified: .*, not compared: what the archive has behind that/)
    expect(sentence).toMatch(
      /; the archive behind that is left out: the name of piece .* is not signed, and a key is given: .* The next backup needs nothing of that$/,
    )
    const place = { cluster: 'shop', lineage, name: backupName, key }
    expect(parseVerification(String(store.objects.get(verified)), place).gtids).toBe(aServerState().executed)
  })

  it('of a backup of this version fails where a piece behind that is not signed: somebody put that there', async () => {
    const replica = await aKeyed()
    const { key, store } = replica
    await withUnsignedPiece(store, key, manifestIn(store))
    const { stage, sentence } = (await rehearsed(replica)) ?? {}
    expect([stage, store.objects.has(verified)]).toEqual(['failed', false])
    expect(sentence).toContain('is not signed, and a key is given')
  })

  it('looks into the folder of its cluster, where that has another name', async () => {
    const replica = await aRehearser({ Msg_type: 'status', Msg_text: 'OK' }, 1e12, 'shops.shop')
    expect(await rehearsed(replica, 'shops.shop')).toMatchObject({ stage: 'done' })
    expect(replica.store.objects.has(verified.replace('shop/', 'shops.shop/'))).toBe(true)
  })

  it('of which a table is not whole fails with the words of the server, and verifies nothing', async () => {
    const replica = await aRehearser({ Msg_type: 'error', Msg_text: 'Corrupt' })
    expect(await rehearsed(replica)).toMatchObject({
      stage: 'failed',
      sentence: 'table `app`.`orders` is not whole: Corrupt',
    })
    expect(replica.store.objects.has(verified)).toBe(false)
    expect([existsSync(replica.rehearsal), replica.ended]).toEqual([false, ['killed']])
    expect(replica.parts.notices.list.map(({ code }) => code)).toContain('RehearsalFailed')
  })

  it('of which a table has other rows than the replica beside fails, and verifies nothing', async () => {
    const replica = await aRehearser({ Msg_type: 'status', Msg_text: 'OK' }, 1e12, undefined, { x: '8', s: '9' })
    const { stage, sentence } = (await rehearsed(replica)) ?? {}
    expect(stage).toBe('failed')
    expect(sentence).toMatch(/^table app.orders .* 42 rows with sums 7\/9 restored, .* 8\/9 on the replica$/)
    expect(replica.store.objects.has(verified)).toBe(false)
  })

  it('goes on where a table was dropped since the check, on both sides', async () => {
    const replica = await aRehearser(good)
    const gone = (): never => {
      throw new RegentError('REGENT_SERVER_ERROR', say`there is no such table`)
    }
    const view = { gtids: aServerState().executed, there: [], query: async () => gone(), end: () => undefined }
    Object.assign(replica.parts.server, { stillView: async () => view })
    const { throwAway } = replica.port
    const start = throwAway.start.bind(throwAway)
    throwAway.start = async (...how) => {
      const server = await start(...how)
      let isChecked = false
      const query = async (statement: string) => {
        isChecked ||= statement.includes('gtid_executed')
        if (isChecked && statement.startsWith('SHOW COLUMNS')) return gone()
        return isChecked && statement.startsWith('SELECT TABLE_SCHEMA') ? [] : server.query(statement)
      }
      return { ...server, query }
    }
    expect(await rehearsed(replica)).toMatchObject({ stage: 'done' })
    expect(String(replica.store.objects.get(verified))).toContain('no table could be read on both sides')
  })

  it('for which the volume has no room begins nothing', async () => {
    const replica = await aRehearser({ Msg_type: 'status', Msg_text: 'OK' }, 900 * mebibyte)
    expect((await rehearsed(replica))?.sentence).toContain('once more on the volume of shop-0')
    expect(replica.ended).toEqual([])
  })

  it('needs room for the relay logs of the archive, too', async () => {
    const replica = await aRehearser(good, 4_096 * mebibyte)
    addPiece(replica.store, manifestIn(replica.store), 3_200 * mebibyte)
    expect((await rehearsed(replica))?.sentence).toMatch(
      /^backup \S+ needs 4224\.0 MiB once more on the volume of shop-0 \(.* of data, 3200\.0 MiB of binary logs to replay\), and 4096\.0 MiB are free$/,
    )
    expect(replica.ended).toEqual([])
  })

  it('goes on once, however often that is asked for, and no other beside it', async () => {
    const replica = await aRehearser({ Msg_type: 'status', Msg_text: 'OK' })
    const { rehearsing } = replica
    rehearsing.begin({ ...said, name: '20261129T040000Z' })
    expect(() => rehearsing.begin({ ...said, name: '20261129T040001Z' })).toThrow(
      'has rehearsal 20261129T040000Z under',
    )
    await rehearsed(replica)
    expect(replica.ended).toEqual(['in order'])
  })

  it('that ended with its agent is removed by the next', async () => {
    const { parts, rehearsing, rehearsal } = await aRehearser({})
    await mkdir(rehearsal)
    await rehearsing.removeLeftovers()
    expect(existsSync(rehearsal)).toBe(false)
    expect(parts.notices.list.map(({ code }) => code)).toContain('RehearsalFailed')
    // An older agent noted no name.
    expect(parts.jobs.rehearsal?.stage).toBe('failed')
    expect(parts.jobs.rehearsal?.name).toMatch(/^\d{8}T\d{6}Z$/)
  })

  it('that ended with its agent failed, and is counted, told and remembered as any other', async () => {
    const { parts, port, rehearsal } = await aRehearser(good)
    const dying = new Rehearsing(parts, { ...port, throwAway: { ...port.throwAway, start: untilStopped } })
    onTestFinished(() => dying.stop())
    dying.begin({ ...said, name: '20261129T040000Z' })
    await expect.poll(() => existsSync(join(rehearsal, 'mysql.ibd'))).toBe(true)

    const sentence = 'the agent ended while the backup was restored: memory ran out, or the agent was stopped'
    const failed = { name: '20261129T040000Z', stage: 'failed', sentence }
    const second = await nextAgent(parts, port)
    expect(existsSync(rehearsal)).toBe(false)
    expect(second.jobs).toMatchObject({ rehearsal: failed, backupFailures: { rehearsal: 1 } })
    const told = `rehearsal 20261129T040000Z failed: ${sentence}`
    expect(second.runs.list.at(-1)).toMatchObject({ kind: 'rehearsal', sentence: told })
    expect(String(second.notices.list.at(-1)?.sentence)).toBe(told)
    // What failed is told by each agent, and counted by one.
    expect((await nextAgent(parts, port)).jobs).toMatchObject({ rehearsal: failed, backupFailures: { rehearsal: 0 } })
  })

  it('that failed is remembered by the next agent, and one that proved its backup is not', async () => {
    const broken = await aRehearser({ Msg_type: 'error', Msg_text: 'Corrupt' })
    const failed = await rehearsed(broken)
    await expect.poll(() => broken.parts.file.current.rehearsal?.failure).toContain('Corrupt')
    expect((await nextAgent(broken.parts, broken.port)).jobs.rehearsal).toEqual(failed)
    const whole = await aRehearser(good)
    await rehearsed(whole)
    expect((await nextAgent(whole.parts, whole.port)).jobs.rehearsal).toBe(null)
  })
})

/** What the agent that starts next on that volume knows. */
async function nextAgent(parts: Parts, port: BackupPort): Promise<Parts> {
  const { clock } = parts.world
  const notices = new Notices(clock, () => undefined)
  const next = { ...parts, ...nothingKnown(clock.monotonicMs()), notices, runs: new RunLog(clock) }
  await new Rehearsing(next, port).removeLeftovers()
  return next
}

const untilStopped: ThrowAwayPort['start'] = (_, { signal }) =>
  new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(new Error('stopped')))
  })

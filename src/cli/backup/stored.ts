import type { Manifest } from '#backup/objects/manifest.ts'
import { prefixOf } from '#backup/objects/object-key.ts'
import { runsIn } from '#backup/objects/runs.ts'
import { isOfContent } from '#backup/objects/stored-json.ts'
import { readManifest, readVerification } from '#backup/transfer/stored-manifests.ts'
import type { Verification } from '#backup/objects/verification.ts'
import { codeOf, describeError, RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { counted, mebibytes } from '#common/text/words.ts'
import { findCluster } from '#local/clusters/cluster-index.ts'
import { readSpec } from '#local/folder/spec-file.ts'
import { layoutOf } from '#local/folder/state-layout.ts'
import { refusesPlain } from '#backup/keys/plain.ts'
import { keyOfStore } from '#backup/transfer/read-key-file.ts'
import { openBackupStore } from '#backup/transfer/open-backup-store.ts'
import type { ObjectStore, StoredObject } from '#object-store/object-store.ts'
import { backupFolderOf, type BackupStore } from '#failover/protocol/backup-store.ts'
import { usualRetention } from '#failover/protocol/backup-settings.ts'
import type { Retention } from '#backup/retention/retention-rules.ts'
import { storeSaid } from './store-options.ts'
import type { Io } from '../terminal/io.ts'
import { toJson } from '../terminal/json-output.ts'
import { inOneLine } from '../terminal/printable.ts'
import { renderTable } from '../terminal/table.ts'
import type { StoredOptions } from './backup-options.ts'

/** Oldest first. */
export async function listBackups(io: Io, wanted: string | undefined, options: StoredOptions): Promise<void> {
  const { cluster, store, where } = await opened(wanted, options)
  try {
    const key = await keyOfStore(where)
    const plain = refusesPlain(key) ? 'no: refused' : 'no'
    const { manifests, proofs } = await backupsIn(io, { store, cluster, key })
    if (options.output === 'json')
      return io.out(toJson({ cluster, backups: manifests.map((one) => ({ ...shown(one), ...proofOf(proofs, one) })) }))
    if (manifests.length === 0) return io.out(`${store.address} has no backup of ${cluster}`)
    const rows = manifests.map((one) => [
      one.name,
      timeOf(one.startedAtMs),
      `${Math.round((one.storedAtMs - one.startedAtMs) / 1_000)} s`,
      one.instance,
      one.mysqlVersion,
      mebibytes(one.rawBytes),
      mebibytes(one.storedBytes),
      one.encryption?.keyId ?? plain,
      verifiedText(proofs.get(one.name)),
    ])
    const head = ['BACKUP', 'BEGUN', 'TOOK', 'INSTANCE', 'MYSQL', 'DATA', 'STORED', 'ENCRYPTED', 'VERIFIED']
    for (const line of renderTable(head, rows)) io.out(line)
  } finally {
    store.close()
  }
}

interface Opened {
  readonly store: ObjectStore
  readonly cluster: string
  readonly key: Awaited<ReturnType<typeof keyOfStore>>
}

/** The backups that are whole. What cannot be used of them is told beside, and hides no other one. */
async function backupsIn(
  io: Io,
  { store, cluster, key }: Opened,
): Promise<{ readonly manifests: readonly Manifest[]; readonly proofs: ReadonlyMap<string, Verification> }> {
  const objects: StoredObject[] = []
  for await (const object of store.list(prefixOf.backups(cluster))) objects.push(object)
  const manifests: Manifest[] = []
  const proofs = new Map<string, Verification>()
  for (const { name, isWhole, isVerified } of runsIn(objects)) {
    const manifest = isWhole ? await ifUsable(io, readManifest(store, cluster, name)) : undefined
    if (manifest === undefined) continue
    manifests.push(manifest)
    const { lineage } = manifest
    const proof = isVerified ? await ifUsable(io, readVerification(store, { cluster, lineage, name, key })) : undefined
    if (proof !== undefined) proofs.set(name, proof)
  }
  return { manifests, proofs }
}

async function ifUsable<T>(io: Io, reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading
  } catch (error) {
    if (!isOfContent(error)) throw error
    io.note(describeError(error))
    return undefined
  }
}

export async function showBackup(io: Io, name: string, options: StoredOptions): Promise<void> {
  const { cluster, store } = await opened(options.cluster, options)
  try {
    const manifest = await readManifest(store, cluster, name)
    if (options.output === 'json') return io.out(toJson(shown(manifest)))
    const lines = [
      ['backup', manifest.name],
      ['cluster', manifest.cluster],
      ['of', `${manifest.instance} (${manifest.serverUuid}), MySQL ${manifest.mysqlVersion}`],
      ['begun', timeOf(manifest.startedAtMs)],
      ['copied', timeOf(manifest.endedAtMs)],
      ['data', mebibytes(manifest.rawBytes)],
      ['stored', `${mebibytes(manifest.storedBytes)} in ${counted(manifest.parts.length, 'part')}`],
      ['encrypted', manifest.encryption === null ? 'no' : `with key ${manifest.encryption.keyId}`],
      ['holds', manifest.gtids === '' ? 'nothing' : manifest.gtids],
      ['at most', manifest.gtidsAtMost === '' ? 'nothing' : manifest.gtidsAtMost],
    ]
    for (const [what = '', is = ''] of lines) io.out(`${what.padEnd(10)} ${inOneLine(is)}`)
  } finally {
    store.close()
  }
}

/** The store that is meant, with the folder of the cluster there. */
export async function opened(
  wanted: string | undefined,
  options: StoredOptions,
): Promise<{ readonly cluster: string; readonly store: ObjectStore; readonly where: BackupStore }> {
  const said = storeSaid(options)
  if (said !== undefined && wanted !== undefined)
    return { cluster: wanted, store: await openBackupStore(said), where: said }
  const { dir, cluster } = await findCluster(wanted)
  const where = said ?? (await storeOf(dir, cluster.name))
  return {
    cluster: backupFolderOf({ cluster: cluster.name, store: where }),
    store: await openBackupStore(where),
    where,
  }
}

async function storeOf(dir: string, name: string): Promise<BackupStore> {
  const { backup } = await readSpec(layoutOf(dir), name)
  if (backup !== undefined) return backup.store
  throw new RegentError(
    'REGENT_REFUSED',
    say`the spec of ${name} names no store of backups: give --from, or backup.store in the spec`,
    { remedy: '' },
  )
}

/** Which backups stay: by the spec of the local cluster; by the defaults where no cluster of that name is here. */
export async function retentionOf(wanted: string | undefined, options: StoredOptions): Promise<Retention> {
  const isElsewhere = storeSaid(options) !== undefined && wanted !== undefined
  const found = await findCluster(wanted).catch((error: unknown) => {
    if (isElsewhere && codeOf(error) === 'REGENT_NOT_FOUND') return undefined
    throw error
  })
  const spec = found && (await readSpec(layoutOf(found.dir), found.cluster.name))
  return spec?.backup?.retention ?? usualRetention
}

function proofOf(proofs: ReadonlyMap<string, Verification>, { name }: Manifest) {
  const proof = proofs.get(name)
  return { verified: proof === undefined ? null : { verifiedAtMs: proof.verifiedAtMs, restoreMs: proof.restoreMs } }
}

function verifiedText(proof: Verification | undefined): string {
  return proof === undefined ? 'no' : `${timeOf(proof.verifiedAtMs)}, ${Math.round(proof.restoreMs / 1_000)} s`
}

/** For scripts: how many parts there are is enough, and the format is that of the output. */
function shown({ parts, formatVersion, ...manifest }: Manifest) {
  return { ...manifest, parts: parts.length }
}

function timeOf(wallMs: number): string {
  return `${new Date(wallMs).toISOString().slice(0, 19).replace('T', ' ')} UTC`
}

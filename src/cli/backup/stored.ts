import type { Manifest } from '#backup/objects/manifest.ts'
import { storedBackups } from '#backup/transfer/stored-backups.ts'
import { readManifest } from '#backup/transfer/stored-manifests.ts'
import { codeOf } from '#common/errors/errors.ts'
import { counted, mebibytes } from '#common/text/words.ts'
import { findCluster } from '#local/clusters/cluster-index.ts'
import { readSpec } from '#local/folder/spec-file.ts'
import { layoutOf } from '#local/folder/state-layout.ts'
import type { StoredBackup, StoredBackups } from '#failover/protocol/stored-backups.ts'
import { usualRetention } from '#failover/protocol/backup-settings.ts'
import type { Retention } from '#backup/retention/retention-rules.ts'
import { storeSaid } from './store-options.ts'
import type { Io } from '../terminal/io.ts'
import { toJson } from '../terminal/json-output.ts'
import { inOneLine } from '../terminal/printable.ts'
import { renderTable } from '../terminal/table.ts'
import { asked, storeDeadlineMs } from './asked.ts'
import type { AskedOptions, StoredOptions } from './backup-options.ts'
import { opened } from './opened.ts'

/** Oldest first. */
export async function listBackups(io: Io, wanted: string | undefined, options: AskedOptions): Promise<void> {
  const { cluster, address, refusesPlain, backups, unusable } = await asked(io, wanted, options, {
    here: storedBackups,
    there: ({ client, path }) => client.get<StoredBackups>(`${path}/backups`, storeDeadlineMs),
  })
  for (const why of unusable) io.note(why)
  if (options.output === 'json') return io.out(toJson({ cluster, backups }))
  if (backups.length === 0) return io.out(`${address} has no backup of ${cluster}`)
  const plain = refusesPlain ? 'no: refused' : 'no'
  const rows = backups.map((one) => [
    one.name,
    timeOf(one.startedAtMs),
    `${Math.round((one.storedAtMs - one.startedAtMs) / 1_000)} s`,
    one.instance,
    one.mysqlVersion,
    mebibytes(one.rawBytes),
    mebibytes(one.storedBytes),
    one.encryption?.keyId ?? plain,
    verifiedText(one.verified),
  ])
  const head = ['BACKUP', 'BEGUN', 'TOOK', 'INSTANCE', 'MYSQL', 'DATA', 'STORED', 'ENCRYPTED', 'VERIFIED']
  for (const line of renderTable(head, rows)) io.out(line)
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

function verifiedText(proof: StoredBackup['verified']): string {
  return proof === null ? 'no' : `${timeOf(proof.verifiedAtMs)}, ${Math.round(proof.restoreMs / 1_000)} s`
}

/** For scripts: how many parts there are is enough, and the format is that of the output. */
function shown({ parts, formatVersion, ...manifest }: Manifest) {
  return { ...manifest, parts: parts.length }
}

function timeOf(wallMs: number): string {
  return `${new Date(wallMs).toISOString().slice(0, 19).replace('T', ' ')} UTC`
}

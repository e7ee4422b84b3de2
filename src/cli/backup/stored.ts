import { storedBackup, storedBackups } from '#backup/transfer/stored-backups.ts'
import { codeOf, RegentError } from '#common/errors/errors.ts'
import { say, text } from '#common/sentence/sentence.ts'
import { counted, mebibytes } from '#common/text/words.ts'
import { findCluster } from '#local/clusters/cluster-index.ts'
import { readSpec } from '#local/folder/spec-file.ts'
import { layoutOf } from '#local/folder/state-layout.ts'
import type { StoredBackup, StoredBackups, StoredProof } from '#failover/protocol/stored-backups.ts'
import { usualRetention } from '#failover/protocol/backup-settings.ts'
import type { Retention } from '#backup/retention/retention-rules.ts'
import { storeSaid } from './store-options.ts'
import type { Io } from '../terminal/io.ts'
import { toJson } from '../terminal/json-output.ts'
import { inOneLine } from '../terminal/printable.ts'
import { renderTable } from '../terminal/table.ts'
import { asked, storeDeadlineMs } from './asked.ts'
import type { AskedOptions, StoredOptions } from './backup-options.ts'

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

export async function showBackup(io: Io, name: string, options: AskedOptions): Promise<void> {
  const one = await asked(io, options.cluster, options, {
    here: (from) => storedBackup(from, name),
    there: async ({ client, path }) => named(name, await client.get<StoredBackups>(`${path}/backups`, storeDeadlineMs)),
  })
  if (options.output === 'json') return io.out(toJson(one))
  const lines = [
    ['backup', one.name],
    ['cluster', one.cluster],
    ['lineage', one.lineage],
    ['of', `${one.instance} (${one.serverUuid}), MySQL ${one.mysqlVersion}`],
    ['begun', timeOf(one.startedAtMs)],
    ['copied', timeOf(one.endedAtMs)],
    ['data', mebibytes(one.rawBytes)],
    ['stored', `${mebibytes(one.storedBytes)} in ${counted(one.parts, 'part')}`],
    ['encrypted', one.encryption === null ? 'no' : `with key ${one.encryption.keyId}`],
    ['holds', one.gtids === '' ? 'nothing' : one.gtids],
    ['at most', one.gtidsAtMost === '' ? 'nothing' : one.gtidsAtMost],
    ['verified', verifiedText(one.verified)],
    ...(one.verified === null ? [] : [['compared', comparedText(one.verified)]]),
  ]
  for (const [what = '', is = ''] of lines) io.out(`${what.padEnd(10)} ${inOneLine(is)}`)
}

function named(name: string, { backups, unusable, address, cluster }: StoredBackups): StoredBackup {
  const one = backups.find((each) => each.name === name)
  if (one !== undefined) return one
  const why = unusable.find((each) => each.includes(name))
  throw why === undefined
    ? new RegentError('REGENT_NOT_FOUND', say`${text(address)} has no backup ${name} of ${cluster}`)
    : new RegentError('REGENT_BACKUP_UNUSABLE', say`${text(why)}`)
}

function comparedText({ tables, compared, replica, notCompared }: StoredProof): string {
  if (notCompared !== undefined) return `with no replica: ${notCompared}`
  if (compared === undefined) return 'nobody said so'
  return `${compared} of ${counted(tables ?? compared, 'table')}, with ${replica ?? 'a replica'}`
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

function timeOf(wallMs: number): string {
  return `${new Date(wallMs).toISOString().slice(0, 19).replace('T', ' ')} UTC`
}

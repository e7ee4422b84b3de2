import { isDeepStrictEqual } from 'node:util'
import { secondOf } from '#backup/objects/backup-name.ts'
import { RegentError } from '#common/errors/errors.ts'
import { say, type Sentence } from '#common/sentence/sentence.ts'
import { complaintAbout } from '#common/input/schema-complaint.ts'
import { isInstanceOf } from '#topology/snapshot/member.ts'
import { mysqlBackupSpecSchema } from '../backup/backup-schema.ts'
import type { MySQLBackup } from '../backup/mysql-backup.ts'
import type { MySQLCluster } from '../spec/mysql-cluster.ts'

/**
 * Judges a `MySQLBackup` that is to be made or changed. A cluster that is not there yet is no reason to refuse the
 * object: both may come in one file, in any order.
 */
export function validateMySQLBackup(
  next: MySQLBackup,
  before: MySQLBackup | undefined,
  cluster: MySQLCluster | undefined,
): { readonly refusals: readonly RegentError[]; readonly warnings: readonly string[] } {
  if (before !== undefined)
    return {
      refusals: isDeepStrictEqual(next.spec, before.spec)
        ? []
        : [bad('REGENT_REFUSED', say`spec of a MySQLBackup cannot change: make another object for another backup`)],
      warnings: [],
    }
  const refusals = [...complaintsAbout(next)].map((sentence) => bad('REGENT_BAD_REQUEST', sentence))
  return { refusals, warnings: refusals.length > 0 ? [] : warningsAbout(next, cluster) }
}

function* complaintsAbout({ spec }: MySQLBackup): Generator<Sentence> {
  const complaint = complaintAbout(mysqlBackupSpecSchema, spec)
  if (complaint !== undefined) {
    yield say`spec: ${complaint}`
    return
  }
  const { cluster, instance, backup } = spec
  if (instance !== undefined && !isInstanceOf(cluster, instance))
    yield say`spec.instance is "${instance}"; allowed are the instances ${cluster}-0 to ${cluster}-15`
  if (backup !== undefined && secondOf(backup) === null)
    yield say`spec.backup is "${backup}"; allowed is the name of a backup, a time such as 20261126T031209Z`
}

function warningsAbout({ spec, metadata }: MySQLBackup, cluster: MySQLCluster | undefined): readonly string[] {
  const name = `MySQLCluster ${metadata.namespace ?? ''}/${spec.cluster}`
  if (cluster === undefined) return [`${name} is not there: the backup begins when it is, within an hour`]
  return cluster.spec.backup === undefined
    ? [`${name} names no store of backups: the backup begins when spec.backup.store is given there, within an hour`]
    : []
}

function bad(code: 'REGENT_BAD_REQUEST' | 'REGENT_REFUSED', message: Sentence): RegentError {
  return new RegentError(code, message)
}

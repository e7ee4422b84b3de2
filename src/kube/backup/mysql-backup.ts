import type { KubeObject, Resource } from '#controller-runtime/objects/objects.ts'
import { group, version } from '../names/names.ts'
import type { MySQLBackupSpec, MySQLBackupStatus } from './backup-schema.ts'

export interface MySQLBackup extends KubeObject {
  readonly spec: MySQLBackupSpec
  readonly status?: MySQLBackupStatus
}

export const mysqlBackups: Resource<MySQLBackup> = {
  group,
  version,
  kind: 'MySQLBackup',
  plural: 'mysqlbackups',
  namespaced: true,
}

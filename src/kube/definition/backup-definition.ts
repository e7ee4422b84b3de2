import { mysqlBackupSpecSchema, mysqlBackupStatusSchema } from '../backup/backup-schema.ts'
import { definitionOf } from './definition.ts'
import { structuralSchema } from './structural-schema.ts'

const columns = [
  { name: 'Cluster', type: 'string', jsonPath: '.spec.cluster' },
  { name: 'Phase', type: 'string', jsonPath: '.status.phase' },
  { name: 'Backup', type: 'string', jsonPath: '.status.backup' },
  { name: 'Size', type: 'string', jsonPath: '.status.size' },
  { name: 'Stored', type: 'string', jsonPath: '.status.stored' },
  { name: 'Took', type: 'string', jsonPath: '.status.took' },
  { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  { name: 'Verified', type: 'date', jsonPath: '.status.verified.at' },
  { name: 'Tables', type: 'integer', jsonPath: '.status.verified.tables', priority: 1 },
  { name: 'Rows', type: 'integer', jsonPath: '.status.verified.rows', priority: 1 },
  { name: 'Compared', type: 'integer', jsonPath: '.status.verified.compared', priority: 1 },
  { name: 'Instance', type: 'string', jsonPath: '.status.instance', priority: 1 },
  { name: 'Message', type: 'string', jsonPath: '.status.message', priority: 1 },
] as const

/** The definition of kind `MySQLBackup`, with the revision of kind `MySQLCluster`: the chart brings both. */
export function backupDefinition() {
  return definitionOf({
    names: { kind: 'MySQLBackup', listKind: 'MySQLBackupList', plural: 'mysqlbackups', singular: 'mysqlbackup' },
    description:
      'One backup of a MySQLCluster: to make the object begins it, as "regent backup now" does. To delete the object deletes nothing in the store, and ends no run.',
    properties: {
      metadata: { type: 'object' },
      spec: structuralSchema(mysqlBackupSpecSchema),
      status: structuralSchema(mysqlBackupStatusSchema),
    },
    subresources: { status: {} },
    columns,
  })
}

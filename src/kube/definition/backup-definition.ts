import { mysqlBackupSpecSchema, mysqlBackupStatusSchema } from '../backup/backup-schema.ts'
import { group, version } from '../names/names.ts'
import { schemaRevision, schemaRevisionAnnotation } from './custom-resource-definition.ts'
import { structuralSchema } from './structural-schema.ts'

const columns = [
  { name: 'Cluster', type: 'string', jsonPath: '.spec.cluster' },
  { name: 'Phase', type: 'string', jsonPath: '.status.phase' },
  { name: 'Backup', type: 'string', jsonPath: '.status.backup' },
  { name: 'Size', type: 'string', jsonPath: '.status.size' },
  { name: 'Stored', type: 'string', jsonPath: '.status.stored' },
  { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  { name: 'Verified', type: 'date', jsonPath: '.status.verified.at' },
  { name: 'Instance', type: 'string', jsonPath: '.status.instance', priority: 1 },
  { name: 'Message', type: 'string', jsonPath: '.status.message', priority: 1 },
] as const

/** The definition of kind `MySQLBackup`, with the revision of the other one: the chart brings both. */
export function backupDefinition() {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: {
      name: `mysqlbackups.${group}`,
      annotations: { 'helm.sh/resource-policy': 'keep', [schemaRevisionAnnotation]: String(schemaRevision) },
    },
    spec: {
      group,
      scope: 'Namespaced',
      names: {
        kind: 'MySQLBackup',
        listKind: 'MySQLBackupList',
        plural: 'mysqlbackups',
        singular: 'mysqlbackup',
      },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          schema: {
            openAPIV3Schema: {
              type: 'object',
              description:
                'One backup of a MySQLCluster: to make the object begins it, as "regent backup now" does. To delete the object deletes nothing in the store, and ends no run.',
              required: ['spec'],
              properties: {
                apiVersion: { type: 'string' },
                kind: { type: 'string' },
                metadata: { type: 'object' },
                spec: structuralSchema(mysqlBackupSpecSchema),
                status: structuralSchema(mysqlBackupStatusSchema),
              },
            },
          },
          subresources: { status: {} },
          additionalPrinterColumns: columns,
        },
      ],
    },
  }
}

import { group, longestClusterName, version } from '../names/names.ts'
import { mysqlClusterSpecSchema } from '../spec/spec-schema.ts'
import { mysqlClusterStatusSchema } from '../spec/status-schema.ts'
import { structuralSchema } from './structural-schema.ts'

/**
 * Grows with every change of the schema. A manager refuses to start beside an older one: what it writes would be
 * refused. What the version before knew is taken still (`definition-before.test.ts`).
 */
export const schemaRevision = 7
export const schemaRevisionAnnotation = 'regent.dev/schema-revision'

const columns = [
  { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
  { name: 'Primary', type: 'string', jsonPath: '.status.primary' },
  { name: 'Epoch', type: 'integer', jsonPath: '.status.epoch' },
  { name: 'Instances', type: 'integer', jsonPath: '.spec.instances' },
  { name: 'Group', type: 'string', jsonPath: '.status.group.summary' },
  { name: 'Sync set', type: 'string', jsonPath: '.status.syncSet', priority: 1 },
  { name: 'Status', type: 'string', jsonPath: '.status.sentence' },
  // Where nobody renews it, nobody stands for what the others say.
  { name: 'Observed', type: 'date', jsonPath: '.status.observedAt' },
  { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
] as const

/**
 * The definition of kind `MySQLCluster`, made from the schemas that everything else uses. Helm keeps it when the chart
 * is uninstalled: the clusters would go with it.
 */
export function customResourceDefinition() {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: {
      name: `mysqlclusters.${group}`,
      annotations: { 'helm.sh/resource-policy': 'keep', [schemaRevisionAnnotation]: String(schemaRevision) },
    },
    spec: {
      group,
      scope: 'Namespaced',
      names: {
        kind: 'MySQLCluster',
        listKind: 'MySQLClusterList',
        plural: 'mysqlclusters',
        singular: 'mysqlcluster',
        shortNames: ['mysql'],
        categories: ['all'],
      },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          schema: {
            openAPIV3Schema: {
              type: 'object',
              description: 'A MySQL cluster that survives its primary.',
              required: ['spec'],
              properties: {
                apiVersion: { type: 'string' },
                kind: { type: 'string' },
                metadata: {
                  type: 'object',
                  properties: { name: { type: 'string', pattern: '^[a-z][a-z0-9-]*$', maxLength: longestClusterName } },
                },
                spec: structuralSchema(mysqlClusterSpecSchema),
                status: structuralSchema(mysqlClusterStatusSchema),
              },
            },
          },
          subresources: {
            status: {},
            scale: {
              specReplicasPath: '.spec.instances',
              statusReplicasPath: '.status.replicas',
              labelSelectorPath: '.status.selector',
            },
          },
          additionalPrinterColumns: columns,
        },
      ],
    },
  }
}

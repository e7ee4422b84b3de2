import { longestClusterName } from '../names/names.ts'
import { mysqlClusterSpecSchema } from '../spec/spec-schema.ts'
import { mysqlClusterStatusSchema } from '../spec/status-schema.ts'
import { definitionOf } from './definition.ts'
import { structuralSchema } from './structural-schema.ts'

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

/** The definition of kind `MySQLCluster`, made from the schemas that everything else uses. */
export function customResourceDefinition() {
  return definitionOf({
    names: {
      kind: 'MySQLCluster',
      listKind: 'MySQLClusterList',
      plural: 'mysqlclusters',
      singular: 'mysqlcluster',
      shortNames: ['mysql'],
      categories: ['all'],
    },
    description: 'A MySQL cluster that survives its primary.',
    properties: {
      metadata: {
        type: 'object',
        properties: { name: { type: 'string', pattern: '^[a-z][a-z0-9-]*$', maxLength: longestClusterName } },
      },
      spec: structuralSchema(mysqlClusterSpecSchema),
      status: structuralSchema(mysqlClusterStatusSchema),
    },
    subresources: {
      status: {},
      scale: {
        specReplicasPath: '.spec.instances',
        statusReplicasPath: '.status.replicas',
        labelSelectorPath: '.status.selector',
      },
    },
    columns,
  })
}

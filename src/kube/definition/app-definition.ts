import { appGroup, appVersion } from '../app/app.ts'
import { appRules } from '../app/app-rules.ts'
import { appSpecSchema, appStatusSchema, longestAppName } from '../app/app-schema.ts'
import { definitionOf } from './definition.ts'
import { structuralSchema } from './structural-schema.ts'

const columns = [
  { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
  { name: 'Wanted', type: 'integer', jsonPath: '.spec.replicas' },
  { name: 'Pods ready', type: 'integer', jsonPath: '.status.readyReplicas' },
  { name: 'Address', type: 'string', jsonPath: '.status.address' },
  { name: 'Status', type: 'string', jsonPath: '.status.sentence' },
  { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  { name: 'Image', type: 'string', jsonPath: '.spec.image', priority: 1 },
] as const

/** The definition of kind `App`. */
export function appDefinition() {
  return definitionOf({
    of: { group: appGroup, version: appVersion },
    names: { kind: 'App', listKind: 'AppList', plural: 'apps', singular: 'app' },
    description:
      'One image in so many pods, with one address: a Deployment and a Service, kept as they are wanted, and deleted with the App.',
    properties: {
      metadata: {
        type: 'object',
        properties: {
          name: { type: 'string', pattern: '^[a-z]([a-z0-9-]*[a-z0-9])?$', maxLength: longestAppName },
        },
      },
      spec: structuralSchema(appSpecSchema),
      status: structuralSchema(appStatusSchema),
    },
    subresources: {
      status: {},
      scale: {
        specReplicasPath: '.spec.replicas',
        statusReplicasPath: '.status.replicas',
        labelSelectorPath: '.status.selector',
      },
    },
    columns,
    rules: appRules,
  })
}

import { appRules } from '#kube/app/app-rules.ts'
import { appSpecSchema, appStatusSchema } from '#kube/app/app-schema.ts'
import { mysqlBackupSpecSchema, mysqlBackupStatusSchema } from '#kube/backup/backup-schema.ts'
import { appDefinition } from '#kube/definition/app-definition.ts'
import { backupDefinition } from '#kube/definition/backup-definition.ts'
import { customResourceDefinition } from '#kube/definition/custom-resource-definition.ts'
import { kubeHookSchema } from '#failover/protocol/hook.ts'
import { mysqlClusterSpecSchema } from '#kube/spec/spec-schema.ts'
import { mysqlClusterStatusSchema } from '#kube/spec/status-schema.ts'
import { asks } from '#kube/injection/marks.ts'
import { marks } from '#kube/pod-events/marks.ts'
import { code, page, table } from './markdown.ts'
import { descriptionOf, schemaTable } from './schema-table.ts'

/** docs/reference/kubernetes-reference.md */
export function kubernetesReferencePage(): string {
  const { group, names, versions } = customResourceDefinition().spec
  return page(
    'Reference of the resource',
    '`src/kube/spec/spec-schema.ts`, `src/kube/spec/status-schema.ts`, `src/kube/backup/backup-schema.ts` and `src/kube/app/app-schema.ts`',
    `Kind ${code(names.kind)} of ${code(`${group}/${versions[0]?.name ?? ''}`)}, short name ${code(names.shortNames[0] ?? '')}. The smallest one:`,
    `\`\`\`yaml\napiVersion: ${group}/${versions[0]?.name ?? ''}\nkind: ${names.kind}\nmetadata: {name: shop}\nspec: {instances: 3, storage: {size: 1Gi}}\n\`\`\``,
    'How to get there is in [kubernetes.md](../start/kubernetes.md), what a change restarts in [kubernetes-operations.md](../guide/kubernetes-operations.md#changing-the-image-settings-resources).',
    '## spec',
    'What has no default and is not said is not set.',
    schemaTable(mysqlClusterSpecSchema),
    'A hook, in each list below `hooks` ([hooks.md](../guide/hooks.md)):',
    schemaTable(kubeHookSchema),
    '## Rules',
    'Checked by the API server itself, also while no manager answers.',
    table(['where', 'refused with'], rulesIn(mysqlClusterSpecSchema, 'spec')),
    '## status',
    'What Regent says of a cluster. Nothing is decided from it: the record is an object of its own.',
    table(['key', 'meaning'], keysIn(mysqlClusterStatusSchema, '')),
    '## Kind MySQLBackup',
    `${backupDefinition().spec.versions[0]?.schema.openAPIV3Schema.description ?? ''} [backup.md](../guide/backup.md#on-kubernetes) shows one.`,
    '### spec of a MySQLBackup',
    schemaTable(mysqlBackupSpecSchema),
    table(['where', 'refused with'], rulesIn(mysqlBackupSpecSchema, 'spec')),
    '### status of a MySQLBackup',
    table(['key', 'meaning'], keysIn(mysqlBackupStatusSchema, '')),
    '## Kind App',
    `Of ${code('apps.regent.dev/v1')}. ${appDefinition().spec.versions[0]?.schema.openAPIV3Schema.description ?? ''} [app.md](../guide/app.md) shows one.`,
    '### spec of an App',
    schemaTable(appSpecSchema),
    table(
      ['where', 'refused with'],
      [...rulesIn(appSpecSchema, 'spec'), ...appRules.map(({ message }) => [code('App'), message])],
    ),
    '### status of an App',
    table(['key', 'meaning'], keysIn(appStatusSchema, '')),
    '## Annotations of other components',
    'Of a StatefulSet or an InstanceSet whose pods have an agent: [pod-events.md](../guide/pod-events.md).',
    table(
      ['annotation', 'written by', 'meaning'],
      [
        [code(marks.roles), 'you', 'The roles its pods may have, as JSON, and which of them only one pod has.'],
        [code(marks.availability), 'you', 'When the component counts as available, as JSON.'],
        [code(marks.available), 'Regent', 'Condition `Available`, as JSON.'],
        [code(marks.replicasStatus), 'Regent', 'How far each replica is, as JSON in KubeBlocks’ words.'],
      ],
    ),
    '## Annotations of a pod that is given the lifecycle agent',
    'Of any pod, so of the template of a StatefulSet or a Deployment: [lifecycle-agent.md](../guide/lifecycle-agent.md#in-any-pod-by-annotation). They are read when the pod is made.',
    table(
      ['annotation', 'value', 'meaning'],
      [
        [code(asks.inject), '`true` or `false`', 'Whether the pod is given the agent.'],
        [code(asks.open), '`true` or `false`', 'Callers send no token. This or the next must be said.'],
        [code(asks.tokenSecret), 'name of a Secret', 'Its key `token` is the token that every caller sends.'],
        [code(asks.actions), 'JSON list', '`KB_AGENT_ACTION`. This or the ConfigMap must be said.'],
        [code(asks.probes), 'JSON list', '`KB_AGENT_PROBE`, beside the actions.'],
        [code(asks.streaming), 'names, separated by commas', '`KB_AGENT_STREAMING`, beside the actions.'],
        [
          code(asks.configMap),
          'name of a ConfigMap',
          'Every key is a variable of the agent; `KB_AGENT_TASK` is obeyed.',
        ],
        [code(asks.image), 'image', 'What the agent, and so every script, runs in. Otherwise Regent’s own.'],
        [code(asks.container), 'name of a container', 'The agent gets its volume mounts, and its user.'],
      ],
    ),
  )
}

interface Nested {
  readonly properties?: Readonly<Record<string, Nested>>
  readonly items?: Nested
}

/** Those of what a list holds with `[]`. */
function keysIn(schema: object, path: string): readonly (readonly string[])[] {
  const { properties = {} } = schema as Nested
  return Object.entries(properties).flatMap(([name, child]) => [
    [code(path + name), descriptionOf(child)],
    ...keysIn(child, `${path}${name}.`),
    ...keysIn(child.items ?? {}, `${path}${name}[].`),
  ])
}

interface Ruled {
  readonly properties?: Readonly<Record<string, Ruled>>
  readonly 'x-kubernetes-validations'?: readonly { readonly message: string }[]
}

function rulesIn(schema: object, path: string): readonly (readonly string[])[] {
  const { properties = {}, 'x-kubernetes-validations': rules = [] } = schema as Ruled
  return [
    ...rules.map(({ message }) => [code(path), message]),
    ...Object.entries(properties).flatMap(([name, child]) => rulesIn(child, `${path}.${name}`)),
  ]
}

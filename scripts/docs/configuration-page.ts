import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { serverSettings } from '../../agents/server-settings.ts'
import { clusterSpecSchema, instancePolicySchema } from '../../failover/spec.ts'
import { defaultTimings } from '../../failover/timings.ts'
import { agentConfigSchema } from '../../src/cli/agent-config-file.ts'
import { describeSchema } from '../../src/common/schema-complaint.ts'
import { environmentTable } from './environment.ts'
import { code, page, table } from './markdown.ts'
import { descriptionOf, schemaTable } from './schema-table.ts'

/** docs/configuration.md */
export async function configurationPage(): Promise<string> {
  return page(
    'Configuration',
    '`failover/spec.ts`, `failover/timings.ts`, `agents/server-settings.ts` and `src/cli/agent-config-file.ts`',
    '## The cluster’s spec',
    'Given to `regent local up` with `--config` as YAML; options of the command line win over it. Unknown keys are refused.',
    schemaTable(clusterSpecSchema),
    'A policy, below `policies.<instance>`:',
    schemaTable(instancePolicySchema),
    'For example:',
    '```yaml\ninstances: 5\ndurability: strict\nfailover: {windowMs: 300000}\npolicies:\n  shop-4: {promotion: never}\n```',
    '## Durations',
    'All are milliseconds. They are checked against each other when an agent or manager starts, and can be changed under `timings` of an agent’s configuration.',
    table(['name', 'default', 'meaning'], await timingRows()),
    '## The agent’s configuration file',
    '`regent local up` writes one per instance, `instances/<name>/agent.json` in the cluster’s folder, and keeps what was changed under `timings`, `serverSettings`, `bootIdFile` and `logLevel`.',
    table(['key', 'allowed', 'meaning'], Object.entries(agentConfigSchema.properties).map(([name, schema]) => [code(name), describeSchema(schema), descriptionOf(schema)])),
    '## mysqld’s settings',
    'Managed settings cannot be overridden: what Regent promises rests on them. The others are defaults, changed under `serverSettings` of the agent’s configuration, where any further setting can be given as well.',
    table(['setting', 'value', 'managed', 'why'], serverSettings.map((one) => [code(one.name), typeof one.value === 'string' ? code(one.value) : 'of the instance', one.managed ? 'yes' : 'no', one.reason])),
    '## Environment',
    environmentTable(),
  )
}

/** What the doc comments of the interface say. */
async function timingRows(): Promise<readonly (readonly string[])[]> {
  const source = await readFile(join(import.meta.dirname, '..', '..', 'failover', 'timings.ts'), 'utf8')
  return Object.entries(defaultTimings).map(([name, value]) => {
    const comment = new RegExp(`/\\*\\*([^/]*?)\\*/\\s*readonly ${name}:`).exec(source)?.[1] ?? ''
    return [code(name), String(value), comment.replaceAll(/\s*\n\s*\*\s*/g, ' ').trim()]
  })
}

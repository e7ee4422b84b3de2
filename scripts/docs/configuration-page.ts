import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describeValues, type Setting as ServerSetting } from '#failover/settings/setting.ts'
import { serverSettings, settingsTable } from '#failover/settings/table.ts'
import { clusterSpecSchema } from '#failover/protocol/spec.ts'
import { instancePolicySchema } from '#failover/protocol/instance-policy.ts'
import { hookSchema } from '#failover/protocol/hook.ts'
import { defaultTimings } from '#failover/protocol/timings.ts'
import { stringify } from 'yaml'
import { Value } from 'typebox/value'
import { agentConfigSchema } from '#cli/commands/programs/agent-config-file.ts'
import { describeSchema } from '#common/input/schema-complaint.ts'
import { regentVersion } from '#common/version.ts'
import { configFileVersion } from '#manager/options/config-file.ts'
import { kubernetesManagerOptionsSchema } from '#manager/options/schema.ts'
import { settings, type Setting } from '#manager/options/settings.ts'
import { environmentTable } from './environment.ts'
import { code, page, table } from './markdown.ts'
import { descriptionOf, schemaTable } from './schema-table.ts'

/** docs/reference/configuration.md */
export async function configurationPage(): Promise<string> {
  return page(
    'Configuration',
    '`failover/protocol/spec.ts`, `failover/protocol/timings.ts`, `failover/settings/`, `src/cli/commands/programs/agent-config-file.ts` and `src/manager/options/schema.ts`',
    '## The cluster’s spec',
    'Given to `regent local up` with `--config` as YAML; options of the command line win over it. Unknown keys are refused.',
    'For a cluster that exists a file says all but `mode` and `instances`: **what the file leaves out goes back to its default**, and `up` prints the names of settings that change. For [adopted servers](../guide/adopt-managed.md) a file says only what changes: its keys are laid over what the cluster has, and a list replaces a list. While the cluster runs, a file may change `hooks` and `group.consistency` alone.',
    schemaTable(clusterSpecSchema),
    'A policy, below `policies.<instance>`:',
    schemaTable(instancePolicySchema),
    'A hook, in each list below `hooks` ([hooks.md](../guide/hooks.md)):',
    schemaTable(hookSchema),
    'For example:',
    '```yaml\ninstances: 5\ndurability: strict\nfailover: {budget: {failovers: 5}}\npolicies:\n  shop-4: {promotion: never}\n```',
    '## Durations',
    'All are milliseconds. On one machine an agent’s own are changed under `timings` of its configuration, and are checked against each other when the agent starts. Managers go by the defaults, and so do agents on Kubernetes: an agent’s `leaseMs` and `heartbeatMs` may be shorter than what managers rest upon, and not longer.',
    table(['name', 'default', 'meaning'], await timingRows()),
    '## The agent’s configuration file',
    '`regent local up` writes one per instance, `instances/<name>/agent.json` in the cluster’s folder, and keeps what was changed under `timings`, `serverSettings`, `allowUnclassified`, `lifecycle`, `bootIdFile` and `logLevel`.',
    table(
      ['key', 'allowed', 'meaning'],
      Object.entries(agentConfigSchema.properties).map(([name, schema]) => [
        code(name),
        describeSchema(schema, code),
        descriptionOf(schema),
      ]),
    ),
    '## The manager on Kubernetes',
    '`regent manager` without `--cluster-dir`. The chart writes its file and starts it with `--config`. **A flag wins over a variable, a variable over the file, the file over the default.** Lists of flags and variables have commas between their items. An empty variable is as good as none; what has no default can also be left open by an empty text or, in the file, by `null`. Other variables are not looked at.',
    'A manager refuses to start, with a sentence, where the file has a key it does not know, where a value is not allowed (also one that another wins over), where options contradict each other (two servers on one port, a leader that would give up too late, a certificate for webhooks that are not served), and where the custom resource definition is older than the manager.',
    table(['key in the file', 'flag', 'variable', 'allowed', 'default', 'meaning'], settings.map(settingRow)),
    'The file with every default, and an image:',
    `\`\`\`yaml\n${exampleFile()}\`\`\``,
    '`/debug/profile?seconds=N` of the profiling address gives a CPU profile (`.cpuprofile`), `/debug/heap` a heap snapshot (`.heapsnapshot`); both open in the developer tools of Chrome, and profiles with `npx speedscope FILE`. A snapshot holds what the manager knows, tokens too. While one is taken the process stands still, perhaps for so long that another manager takes over: take it from the one that does not lead.',
    '## mysqld’s settings',
    'Managed settings cannot be overridden: what Regent promises rests on them. The others are defaults, changed under `serverSettings` of the agent’s configuration, or `spec.settings` on Kubernetes, where free settings can be given as well (below).',
    table(
      ['setting', 'value', 'managed', 'why'],
      serverSettings.map((one) => [
        code(one.name),
        typeof one.value === 'string' ? code(one.value) : 'of the instance',
        one.kind === 'managed' ? 'yes' : 'no',
        one.reason,
      ]),
    ),
    '### Every setting, and who sets it',
    'One table (`failover/settings/table.ts`) knows every variable of the server, and of the plugins that Regent loads: a test on a real server fails for each that is missing. `managed` settings are Regent’s, `refused` ones are nobody’s, `free` ones are yours, where the table names values within these. The same table judges `serverSettings`, `spec.settings` and the action `reconfigure`, in whatever spelling. A setting that the table does not know (of a newer server, or of a component of yours) is refused as well, unless its name stands under `allowUnclassified`; then topology and status name it (`UnclassifiedSettings`).',
    table(['who', 'settings', 'values', 'why'], rowsOfAllSettings()),
    '## Environment',
    environmentTable(),
  )
}

/** One row for all settings of one kind that have one reason and one choice of values. */
function rowsOfAllSettings(): readonly (readonly string[])[] {
  const groups = new Map<string, { readonly first: ServerSetting; readonly names: string[] }>()
  for (const setting of settingsTable) {
    const key = JSON.stringify([setting.kind, setting.reason, setting.only && describeValues(setting.only)])
    const group = groups.get(key) ?? { first: setting, names: [] }
    group.names.push(code(setting.name))
    groups.set(key, group)
  }
  return [...groups.values()]
    .filter(({ first }) => first.kind !== 'managed')
    .map(({ first, names }) => [
      first.kind,
      names.join(' '),
      first.only === undefined ? '' : describeValues(first.only),
      first.madeWith !== undefined ? `${first.reason}; fixed once the cluster exists` : first.reason,
    ])
}

function settingRow({ key, flag, variable, schema, isOptional }: Setting): readonly string[] {
  const fallback =
    schema.default === undefined ? (isOptional ? '' : 'must be said') : code(JSON.stringify(schema.default))
  return [code(key), code(flag), code(variable), describeSchema(schema, code), fallback, schema.description]
}

function exampleFile(): string {
  const options = Value.Default(kubernetesManagerOptionsSchema, {
    images: { regent: `regent:${regentVersion}` },
  }) as Readonly<Record<string, object>>
  const said = Object.keys(kubernetesManagerOptionsSchema.properties).flatMap((name) =>
    Object.keys(options[name] ?? {}).length > 0 ? [[name, options[name]] as const] : [],
  )
  // As YAML 1.1 needs it, which Helm speaks: off without quotes is false there.
  return stringify({ version: configFileVersion, ...Object.fromEntries(said) }, { version: '1.1' })
}

/** What the doc comments of the interface say. */
async function timingRows(): Promise<readonly (readonly string[])[]> {
  const source = await readFile(join(import.meta.dirname, '..', '..', 'failover', 'protocol', 'timings.ts'), 'utf8')
  return Object.entries(defaultTimings).map(([name, value]) => {
    const comment = new RegExp(`/\\*\\*([^/]*?)\\*/\\s*readonly ${name}:`).exec(source)?.[1] ?? ''
    return [code(name), String(value), comment.replaceAll(/\s*\n\s*(\*\s*)?/g, ' ').trim()]
  })
}

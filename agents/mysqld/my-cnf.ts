import { checkServerSettings } from '#failover/settings/check.ts'
import type { ServerFacts } from '#failover/settings/setting.ts'
import { canonicalName, serverSettings } from '#failover/settings/table.ts'
import type { AgentConfig } from '../instance/config.ts'
import { volumeLayout } from '../instance/volume-layout.ts'

/**
 * The content of `my.cnf`. Managed settings come last, since the last word counts. Throws as `checkServerSettings`.
 * @param serverId absent where a server is only asked whether it takes the rest
 * @example renderServerConfig(config).includes('gtid_mode=ON')
 */
export function renderServerConfig(config: AgentConfig, serverId?: number): string {
  const { serverSettings: settings, allowUnclassified = [] } = config
  checkServerSettings({ settings, allowUnclassified, where: 'serverSettings' })
  const facts: ServerFacts = { ...config, ...volumeLayout(config.volume), serverId }
  const overridden = new Set(Object.keys(settings).map(canonicalName))
  const defaults = serverSettings.filter(({ kind, name }) => kind !== 'managed' && !overridden.has(name))
  return [
    '# Made by the agent at each start of mysqld; changes are lost. Settings of your own go into the agent’s serverSettings.',
    '[mysqld]',
    ...linesOf(defaults, facts),
    ...Object.entries(settings).map(([name, value]) => `${name}=${quoted(value)}`),
    ...linesOf(
      serverSettings.filter(({ kind }) => kind === 'managed'),
      facts,
    ),
    '',
  ].join('\n')
}

function linesOf(settings: typeof serverSettings, facts: ServerFacts): readonly string[] {
  return settings.flatMap(({ name, value, reason, loose: isLoose }) => {
    const text = typeof value === 'function' ? value(facts) : value
    return text === undefined ? [] : [`# ${reason}`, `${isLoose ? 'loose_' : ''}${name}=${quoted(text)}`]
  })
}

/** Option files take escapes in every value, and a `#` begins a comment unless quoted. */
function quoted(value: string): string {
  const escaped = value.replaceAll('\\', '\\\\')
  return /[#\s'"]/.test(value) ? `"${escaped.replaceAll('"', '\\"')}"` : escaped
}

import { Option, type Command } from 'commander'
import { settings, type Setting } from '#manager/options/settings.ts'
import { kubernetesGroup } from './manager-groups.ts'

/**
 * Adds the flags of a manager on Kubernetes, as the schema of its options has them. Values are checked with those of
 * file and environment: `loadKubernetesOptions`.
 */
export function addKubernetesFlags(manager: Command): void {
  for (const setting of settings) {
    // --log-level is there already: a local cluster's manager takes it too.
    if (manager.options.some(({ long }) => long === setting.flag)) continue
    const option = new Option(
      `${setting.flag} ${placeholderOf(setting)}`,
      `${inSentence(setting.schema.description)}${defaultOf(setting)}`,
    ).helpGroup(kubernetesGroup)
    manager.addOption(setting.schema.type === 'boolean' ? option.preset('true') : option)
  }
}

/** What the command line says, by flag. */
export function kubernetesFlagsIn(manager: Command): ReadonlyMap<string, string> {
  const values: Readonly<Record<string, unknown>> = manager.opts()
  return new Map(
    settings.flatMap(({ flag }) => {
      const value = values[new Option(flag).attributeName()]
      return typeof value === 'string' ? [[flag, value] as const] : []
    }),
  )
}

function placeholderOf({ schema }: Setting): string {
  if (schema.type === 'boolean') return '[true|false]'
  if (schema.type === 'array') return '<list>'
  return schema.type === 'string' ? '<text>' : '<n>'
}

/** Descriptions of options begin small and end without a full stop. */
function inSentence(text: string): string {
  const begin = /^[A-Z][a-z ]/.test(text) ? text.charAt(0).toLowerCase() + text.slice(1) : text
  return begin.replace(/\.$/, '')
}

function defaultOf({ schema, isOptional }: Setting): string {
  if (schema.default === undefined) return isOptional ? '' : ' (default: none, it must be said)'
  const text = Array.isArray(schema.default) ? schema.default.join(',') || 'none' : JSON.stringify(schema.default)
  return ` (default: ${text.replaceAll('"', '')})`
}

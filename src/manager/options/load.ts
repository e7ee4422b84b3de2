import { Type } from 'typebox'
import { Value } from 'typebox/value'
import type { ErrorCode } from '#common/errors/error-catalogue.ts'
import { RegentError } from '#common/errors/errors.ts'
import { reported, say, text } from '#common/sentence/sentence.ts'
import { complaintAbout } from '#common/input/schema-complaint.ts'
import { readConfigFile } from './config-file.ts'
import { contradictionIn } from './contradictions.ts'
import { kubernetesManagerOptionsSchema, type KubernetesManagerOptions } from './schema.ts'
import { settings, valueOf, type Setting } from './settings.ts'

export interface OptionSources {
  /** What the command line says, by flag: `--log-level`. */
  readonly flags: ReadonlyMap<string, string>
  readonly env: Readonly<Record<string, string | undefined>>
  /** The file given with --config. */
  readonly file?: string
}

interface Said {
  readonly value: unknown
  /** `--log-level`, `REGENT_LOG_LEVEL` or `/etc/regent/manager.yaml:7`. */
  readonly where: string
  readonly code: ErrorCode
}

/**
 * The options of a manager on Kubernetes: a flag wins over a variable, that over the file, that over the default.
 * Throws `REGENT_BAD_REQUEST` and `REGENT_BAD_FILE` with the key, where it was said, the value and what is allowed;
 * also for a value that another one wins over.
 */
export async function loadKubernetesOptions(sources: OptionSources): Promise<KubernetesManagerOptions> {
  const inFile = sources.file === undefined ? new Map<string, never>() : await readConfigFile(sources.file)
  const winners = new Map<string, Said>()
  for (const setting of settings) {
    const fromFile = inFile.get(setting.key)
    const said = [
      fromFlag(setting, sources),
      fromVariable(setting, sources),
      fromFile && { ...fromFile, code: 'REGENT_BAD_FILE' as const },
    ].filter((one) => one !== undefined)
    for (const one of said) check(setting, one)
    const [winner] = said
    if (winner !== undefined && !isUnset(setting, winner.value)) winners.set(setting.key, winner)
    else if (!setting.isOptional && setting.schema.default === undefined) throw missing(setting)
  }
  const options = assembled(winners)
  const contradiction = contradictionIn(options, (key) => winners.get(key)?.where ?? 'default')
  if (contradiction !== undefined)
    throw new RegentError('REGENT_BAD_REQUEST', say`options contradict each other: ${contradiction}`)
  return options
}

function fromFlag({ flag, schema }: Setting, { flags }: OptionSources): Said | undefined {
  const text = flags.get(flag)
  return text === undefined ? undefined : { value: valueOf(text, schema), where: flag, code: 'REGENT_BAD_REQUEST' }
}

/** An empty variable is as good as none. */
function fromVariable({ variable, schema }: Setting, { env }: OptionSources): Said | undefined {
  const text = env[variable] ?? ''
  if (text === '' || isServiceLink(variable, text)) return undefined
  return { value: valueOf(text, schema), where: variable, code: 'REGENT_BAD_REQUEST' }
}

/** Kubernetes puts `REGENT_METRICS_PORT=tcp://10.96.0.7:8080` into every pod beside a Service named regent-metrics. */
function isServiceLink(variable: string, text: string): boolean {
  return variable.endsWith('_PORT') && /^(tcp|udp|sctp):\/\//.test(text)
}

/** Charts write what their values leave open as an empty text, or as null. */
function isUnset({ isOptional }: Setting, value: unknown): boolean {
  return isOptional && (value === '' || value === null)
}

function check(setting: Setting, { value, where, code }: Said): void {
  if (isUnset(setting, value)) return
  const complaint = complaintAbout(Type.Object({ [setting.key]: setting.schema }), { [setting.key]: value })
  if (complaint !== undefined) throw new RegentError(code, say`${where}: ${reported(complaint)}`)
}

function missing({ key, flag, variable, schema }: Setting): RegentError {
  return new RegentError(
    'REGENT_BAD_REQUEST',
    say`${key} is not said, and has no default: give ${flag}, ${variable} or ${key} in the file of --config. ${text(schema.description ?? '')}`,
  )
}

function assembled(winners: ReadonlyMap<string, Said>): KubernetesManagerOptions {
  const said: Record<string, Record<string, unknown>> = {}
  for (const [key, { value }] of winners) {
    const [concern = '', name = ''] = key.split('.')
    said[concern] = { ...said[concern], [name]: value }
  }
  // Said once is enough to switch them off.
  if (
    !winners.has('webhook.enabled') &&
    (winners.get('reconcile.disabledCapabilities')?.value as readonly unknown[] | undefined)?.includes('webhooks')
  )
    said['webhook'] = { ...said['webhook'], enabled: false }
  return Value.Default(kubernetesManagerOptionsSchema, said) as KubernetesManagerOptions
}

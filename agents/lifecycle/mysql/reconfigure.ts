import { say, type Sentence } from '#common/sentence/sentence.ts'
import { checkServerSettings } from '#failover/settings/check.ts'
import { plainNumber } from '#failover/settings/setting.ts'
import { canonicalName } from '#failover/settings/table.ts'
import { described, RegentError } from '#common/errors/errors.ts'
import type { ServerPort } from '#agents/ports/server.ts'
import type { Parts } from '#agents/instance/parts.ts'
import type { BuiltInAction, Parameters } from '../built-in/built-in-action.ts'
import { refusal, succeeded, type ActionResult } from '../wire/calls.ts'

type ReconfigureParts = Pick<Parts, 'config' | 'process' | 'observer'> & {
  readonly server: Pick<ServerPort, 'setSetting'>
}

/**
 * Sets settings of the running server, each by its name, until the server starts again: a setting that is to last
 * belongs into the settings of the cluster. Nothing is set where one setting is refused.
 */
export function reconfigure(parts: ReconfigureParts): BuiltInAction {
  return {
    name: 'reconfigure',
    async run(parameters) {
      const { process, config } = parts
      const settings = settingsIn(parameters, config.allowUnclassified)
      if (process.state !== 'running') return refusal('preconditionFailed', say`mysqld is ${process.state}`)
      return setAll(parts, settings)
    },
  }
}

/**
 * Settings among the parameters of a call, as the server shows their names. Names without a small letter are none: the
 * caller sends variables of the component beside them, and each setting a second time in capitals. Throws
 * `REGENT_BAD_REQUEST` as `checkServerSettings`, and where there is none.
 */
export function settingsIn(
  parameters: Parameters,
  allowUnclassified: readonly string[] = [],
): ReadonlyMap<string, string> {
  const given = Object.fromEntries(
    Object.entries(parameters).flatMap(([name, value]) => (/[a-z]/.test(name) ? [[name, plainNumber(value)]] : [])),
  )
  checkServerSettings({ settings: given, allowUnclassified, where: 'parameters' })
  const settings = new Map(Object.entries(given).map(([name, value]) => [canonicalName(name), value]))
  for (const [name, value] of settings) {
    if (value.includes('\\')) throw bad(say`parameters: the value of ${name} has a backslash`)
  }
  if (settings.size === 0) throw bad(say`no parameter names a setting of the server: "max_connections": "500"`)
  return settings
}

function bad(what: Sentence): RegentError {
  return new RegentError('REGENT_BAD_REQUEST', what)
}

async function setAll(
  { server, observer }: ReconfigureParts,
  settings: ReadonlyMap<string, string>,
): Promise<ActionResult> {
  const done: string[] = []
  for (const [name, value] of settings) {
    try {
      await server.setSetting(name, value)
    } catch (error) {
      const before = done.length === 0 ? say`nothing was set` : say`set before: ${done.join(', ')}`
      return refusal('failed', say`${name} could not be set while mysqld runs; ${before}: ${described(error)}`)
    }
    done.push(name)
  }
  observer.outdate()
  return succeeded(Buffer.from(`set until mysqld starts again: ${done.join(', ')}`))
}

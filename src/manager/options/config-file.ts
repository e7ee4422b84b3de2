import { RegentError } from '#common/errors/errors.ts'
import { say, type Sayable } from '#common/sentence/sentence.ts'
import { refuseNewer } from '#local/files/file-version.ts'
import { readYamlWithLines } from '#local/files/yaml-file.ts'
import { concerns } from './settings.ts'

export const configFileVersion = 1

/** A value of the configuration file and where it stands: `/etc/regent/manager.yaml:7`. */
export interface FileValue {
  readonly value: unknown
  readonly where: string
}

/**
 * What the configuration file says, by key (`log.level`); whether the values are allowed is not looked at. Throws
 * `REGENT_BAD_FILE` for unknown keys and what is no mapping, `REGENT_NEWER_VERSION`.
 */
export async function readConfigFile(path: string): Promise<ReadonlyMap<string, FileValue>> {
  const { value: file, lineOf } = await readYamlWithLines(path, say`the configuration of the manager`)
  const at = (...keys: readonly string[]) => [path, lineOf(keys)].filter((part) => part !== undefined).join(':')
  if (!isMapping(file)) throw bad(path, say`the top level must be a mapping`)
  refuseNewer(path, file, configFileVersion)
  const { version = configFileVersion, ...rest } = file
  if (version !== configFileVersion)
    throw bad(at('version'), say`version is ${shown(version)}; allowed is ${configFileVersion}`)
  const allowed = Object.fromEntries(concerns.map(([concern, { properties }]) => [concern, Object.keys(properties)]))
  const values = new Map<string, FileValue>()
  for (const [concern, mapping] of Object.entries(rest)) {
    const names = allowed[concern]
    if (names === undefined)
      throw bad(
        at(concern),
        say`unknown key ${shown(concern)}; allowed are version, ${Object.keys(allowed).join(', ')}`,
      )
    // A concern whose keys are all commented out.
    if (mapping === null) continue
    if (!isMapping(mapping)) throw bad(at(concern), say`${concern} is ${shown(mapping)}; allowed is a mapping`)
    for (const [name, value] of Object.entries(mapping)) {
      if (!names.includes(name))
        throw bad(
          at(concern, name),
          say`${concern} has the unknown key ${shown(name)}; allowed are ${names.join(', ')}`,
        )
      values.set(`${concern}.${name}`, { value, where: at(concern, name) })
    }
  }
  return values
}

function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function shown(value: unknown): string {
  return JSON.stringify(value).slice(0, 60)
}

function bad(where: Sayable, why: Sayable): RegentError {
  return new RegentError('REGENT_BAD_FILE', say`${where}: ${why}`)
}

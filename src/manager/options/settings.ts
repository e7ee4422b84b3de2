import type { TSchema } from 'typebox'
import { kubernetesManagerOptionsSchema } from './schema.ts'

/** An option under the names it has in the file, on the command line and in the environment. */
export interface Setting {
  /** `leaderElection.leaseSeconds` */
  readonly key: string
  /** `--leader-election-lease-seconds` */
  readonly flag: string
  /** `REGENT_LEADER_ELECTION_LEASE_SECONDS` */
  readonly variable: string
  readonly schema: SettingSchema
  /** The setting has no default and need not be said. */
  readonly isOptional: boolean
}

export type SettingSchema = TSchema & {
  readonly type: string
  readonly description: string
  readonly default?: unknown
  readonly flag?: string
}

interface Concern {
  readonly properties: Readonly<Record<string, SettingSchema>>
  readonly required?: readonly string[]
}

export const concerns = Object.entries(
  kubernetesManagerOptionsSchema.properties as unknown as Readonly<Record<string, Concern>>,
)

export const settings: readonly Setting[] = concerns.flatMap(([concern, { properties, required = [] }]) =>
  Object.entries(properties).map(([name, schema]) => {
    const words = schema.flag ?? `${concern}-${name}`.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
    const variable = `REGENT_${words.replaceAll('-', '_').toUpperCase()}`
    return { key: `${concern}.${name}`, flag: `--${words}`, variable, schema, isOptional: !required.includes(name) }
  }),
)

/**
 * The value that a text of the command line or the environment stands for; a text that stands for none is given back,
 * for the schema to refuse.
 */
export function valueOf(text: string, { type }: SettingSchema): unknown {
  if (type === 'array')
    return text
      .split(',')
      .map((item) => item.trim())
      .filter((item) => item !== '')
  if (type === 'boolean') return text === 'true' ? true : text === 'false' ? false : text
  if (type === 'integer' || type === 'number') return /^-?\d{1,15}(\.\d{1,15})?$/.test(text) ? Number(text) : text
  return text
}

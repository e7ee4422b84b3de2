import { freeForPeople } from './free.ts'
import { managedOfGroup, refusedOfGroup } from './group.ts'
import { managedByRegent } from './managed.ts'
import { spellings } from './names.ts'
import { refusedByRegent } from './refused.ts'
import type { Setting } from './setting.ts'

/**
 * The one table of all settings of mysqld: each variable, and each option that is none, of the server series that
 * Regent was tried with, with who sets it and why. `my.cnf`, what is put right while a server runs, what people may
 * set, and what the sessions of agents set for themselves all come from here.
 */
export const settingsTable: readonly Setting[] = [
  ...managedByRegent,
  ...managedOfGroup,
  ...refusedByRegent,
  ...refusedOfGroup,
  ...freeForPeople,
]

const byName: ReadonlyMap<string, Setting> = new Map(settingsTable.map((setting) => [setting.name, setting]))
const patterns = settingsTable.filter(({ name }) => name.endsWith('*'))

/** Lines of `my.cnf`, with their reasons. */
export const serverSettings = settingsTable.filter(
  (setting): setting is Setting & Required<Pick<Setting, 'value'>> => setting.value !== undefined,
)

/** Names of the managed variables, as the server shows them. */
export const managedSettings: readonly string[] = settingsTable
  .filter(({ kind }) => kind === 'managed')
  .map(({ name }) => name)

export interface Found {
  readonly setting: Setting
  /** The name was given whole, rather than with a prefix such as `skip_`, or by its beginning. */
  readonly whole: boolean
}

/** The row of a setting, whatever spelling was given; undefined where no row knows that name. */
export function findSetting(given: string): Found | undefined {
  const [whole = '', ...bare] = spellings(given)
  const exact = byName.get(whole)
  if (exact) return { setting: exact, whole: true }
  for (const name of [...bare, whole]) {
    const setting = byName.get(name) ?? byName.get(`skip_${name}`) ?? coveringPattern(name) ?? begunBy(name)
    if (setting) return { setting, whole: false }
  }
  return undefined
}

/** The row that stands for this variable alone. */
export function rowOf(variable: string): Setting | undefined {
  return byName.get(spellings(variable)[0] ?? '')
}

/** The name as the server shows it, whatever spelling was given. */
export function canonicalName(given: string): string {
  const found = findSetting(given)?.setting.name
  return found === undefined || found.endsWith('*') ? (spellings(given).at(-1) ?? given) : found
}

function coveringPattern(name: string): Setting | undefined {
  return patterns.find((pattern) => name.startsWith(pattern.name.slice(0, -1)))
}

/** The server takes any unambiguous beginning of a name for the whole. What nobody may set comes first. */
function begunBy(name: string): Setting | undefined {
  const begun = settingsTable.filter((setting) => setting.name.startsWith(name))
  return begun.find(({ kind }) => kind !== 'free') ?? begun[0]
}

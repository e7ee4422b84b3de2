import { RegentError } from '#common/errors/errors.ts'
import { say, type Sayable, type Sentence, text } from '#common/sentence/sentence.ts'
import { allows, describeValues, plainNumber, type Setting } from './setting.ts'
import { spellings } from './names.ts'
import { canonicalName, findSetting, settingsTable } from './table.ts'

/** What people say of mysqld's settings. */
export interface GivenSettings {
  readonly settings: Readonly<Record<string, string>>
  /** Settings that no row of the table knows, and that a person allows by name. */
  readonly allowUnclassified: readonly string[]
  /** What the settings are called where they were given. */
  readonly where: string
}

/**
 * Refuses (`REGENT_BAD_REQUEST`) settings that nobody may set but Regent, by any spelling that the server would take,
 * those that no row of the table knows, values that are not allowed, and names or values that could begin another line.
 */
export function checkServerSettings({ settings, allowUnclassified, where }: GivenSettings): void {
  const seen = new Map<string, string>()
  for (const [name, value] of Object.entries(settings)) {
    checkText(name, value, where)
    const why = whyRefused(name, value, allowUnclassified)
    if (why !== undefined) throw bad(say`${where}: ${why}`)
    const canonical = canonicalName(name)
    const before = seen.get(canonical)
    if (before !== undefined) throw bad(say`${where}: ${before} and ${name} are the same setting: say it once`)
    seen.set(canonical, name)
  }
}

/** Names of settings that no row of the table knows. */
export function unclassifiedIn(settings: Readonly<Record<string, string>>): readonly string[] {
  return Object.keys(settings).filter((name) => findSetting(name) === undefined)
}

/** Settings whose values data that are there were made for, and that are otherwise than they were. */
export function changedFixedSettings(
  next: Readonly<Record<string, string>>,
  before: Readonly<Record<string, string>>,
): readonly { readonly name: string; readonly now: string; readonly was: string }[] {
  const [now, was] = [next, before].map(
    (settings) => new Map(Object.entries(settings).map(([name, value]) => [canonicalName(name), plainNumber(value)])),
  )
  return settingsTable
    .flatMap(({ name, madeWith }) =>
      madeWith === undefined ? [] : [{ name, now: now?.get(name) ?? madeWith, was: was?.get(name) ?? madeWith }],
    )
    .filter((one) => one.now !== one.was)
}

function checkText(name: string, value: string, where: Sayable): void {
  if (!/^[A-Za-z][A-Za-z0-9_.-]{0,80}$/.test(name))
    throw bad(say`${where}: ${JSON.stringify(name.slice(0, 80))} is no name of a server variable`)
  if (typeof value !== 'string' || value.length > 4_096 || /[\x00-\x1f\x7f]/.test(value))
    throw bad(say`${where}: the value of ${name} must be one line of text`)
}

function whyRefused(name: string, value: string, allowUnclassified: readonly string[]): Sentence | undefined {
  const found = findSetting(name)
  if (found === undefined) return whyUnclassified(name, allowUnclassified)
  const { setting, whole } = found
  const why = whyNotForPeople(setting)
  if (why !== undefined) return say`${name} is not for you to set: ${why}`
  if (!whole && setting.name !== spellings(name).at(-1))
    return say`${name} is short for ${setting.name}: write the whole name`
  if (setting.only === undefined) return undefined
  if (!whole) return say`${name} is ${setting.name} in other words: write ${setting.name}`
  return allows(setting.only, value)
    ? undefined
    : say`${name} is ${JSON.stringify(value.slice(0, 80))}; allowed is ${describeValues(setting.only)}: ${text(setting.reason)}`
}

function whyNotForPeople({ kind, name, reason }: Setting): Sentence | undefined {
  if (kind === 'free') return undefined
  return kind === 'managed' ? say`Regent manages ${name}: ${text(reason)}` : say`${text(reason)}`
}

/** By the very name: one that a server takes for another was found above. */
function whyUnclassified(name: string, allowUnclassified: readonly string[]): Sentence | undefined {
  const isAllowed = allowUnclassified.some((one) => spellings(one)[0] === spellings(name)[0])
  return isAllowed
    ? undefined
    : say`${name} is a setting that Regent does not know, and nobody can say whether safety rests on it; name it under allowUnclassified to set it all the same`
}

function bad(what: Sentence): RegentError {
  return new RegentError('REGENT_BAD_REQUEST', what)
}

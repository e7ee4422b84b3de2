import { allows, isSameValue, type ServerFacts, type Setting } from './setting.ts'
import { rowOf, settingsTable } from './table.ts'

/**
 * Settings that a running server takes from anybody with the right to set them, and that nobody else here owns: roles
 * set read-only, offline, events and semi-sync. They are looked at with everything else and put right. `my.cnf` is made
 * anew at each start, so what only a start takes is right by then.
 */
const rows = settingsTable.filter((setting): setting is WatchedSetting => setting.watched !== undefined)
type WatchedSetting = Setting & Required<Pick<Setting, 'watched'>>

export function restsDurabilityOn(name: string): boolean {
  return rowOf(name)?.watched?.restsDurability === true
}

export function beginsBinlog(name: string): boolean {
  return rowOf(name)?.watched?.beginsBinlog === true
}

/** The group as a whole changes these while its members run. */
export const agreedOn: ReadonlySet<string> = new Set(
  rows.filter((row) => row.watched.agreedOn === true).map(({ name }) => name),
)

export function isAgreedOn(name: string): boolean {
  return agreedOn.has(name)
}

/** What a watched setting of one server is to be. */
export interface Wanted {
  readonly valueFor: (seen: string) => string
  readonly isRight: (seen: string) => boolean
  /** While it is otherwise, writes of clients are refused. */
  readonly refusesWrites: boolean
}

/** What the server's settings are to be, where Regent says so. */
export function wantedAtRuntime(facts: ServerFacts): ReadonlyMap<string, Wanted> {
  return new Map(
    rows.flatMap((row) => {
      const { mode, without } = row.watched
      if (mode !== undefined && mode !== facts.mode) return []
      if (without !== undefined) return [[row.name, wantedWithout(without)] as const]
      const value = row.watched.to ?? (typeof row.value === 'function' ? row.value(facts) : row.value)
      return value === undefined ? [] : [[row.name, wantedBy(row, value)] as const]
    }),
  )
}

/**
 * Settings of a server that somebody else has set up: what safety rests on, and how soon a replica misses its source.
 */
export function wantedOfAdopted(facts: ServerFacts): ReadonlyMap<string, Wanted> {
  const restsOn = ({ name, watched }: WatchedSetting): boolean =>
    watched.restsDurability === true || watched.refusesWrites === true || ofAdopted.has(name)
  const names = new Set(rows.filter(restsOn).map(({ name }) => name))
  return new Map([...wantedAtRuntime(facts)].filter(([name]) => names.has(name)))
}

const ofAdopted: ReadonlySet<string> = new Set([
  'relay_log_purge',
  'replica_preserve_commit_order',
  'replica_exec_mode',
  'replica_net_timeout',
])

function wantedBy({ only, watched }: WatchedSetting, value: string): Wanted {
  return {
    valueFor: () => value,
    isRight: (seen) => (only === undefined ? isSameValue(seen, value) : allows(only, seen)),
    refusesWrites: watched.refusesWrites === true,
  }
}

function wantedWithout(word: string): Wanted {
  const rest = (seen: string): string =>
    seen
      .split(',')
      .filter((one) => one !== word)
      .join()
  return { valueFor: rest, isRight: (seen) => rest(seen) === seen, refusesWrites: false }
}

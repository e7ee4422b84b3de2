import type { ModeName } from '../protocol/mode-name.ts'

/** What the settings of one server depend on: its agent's configuration, and where things lie on its volume. */
export interface ServerFacts {
  readonly mode: ModeName
  readonly instance: string
  /** The id that its data folder gives (`serverIdOf`); undefined where no server runs there, and to leave that out. */
  readonly serverId?: number | undefined
  readonly host: string
  /** Where clients reach the server, too. Absent for nowhere. */
  readonly otherHosts?: readonly string[]
  readonly port: number
  readonly adminPort: number
  readonly pluginDir: string
  readonly shareDir: string
  readonly dataDir: string
  readonly socket: string
  readonly serverPidFile: string
  readonly errorLog: string
  readonly clientTls?: { readonly required: boolean }
}

/**
 * The hand that sets a variable, or an option, of mysqld. `managed`: Regent alone, since safety rests on the value.
 * `free`: people, within `only`. `refused`: nobody; the server's own value is the right one.
 */
type SettingKind = 'managed' | 'free' | 'refused'

/** A row of the table of all settings (`table.ts`). */
export interface Setting {
  /** As the server shows the variable. With `*` at its end for all that begin so and have no row of their own. */
  readonly name: string
  readonly kind: SettingKind
  readonly reason: string
  /**
   * What Regent writes into `my.cnf`: for good where the setting is managed, as a default where the setting is free.
   * Undefined leaves the server's own.
   */
  readonly value?: string | ((facts: ServerFacts) => string | undefined)
  /**
   * Understood only once a plugin is loaded, or only by some versions: a server that does not know the setting warns
   * and goes on.
   */
  readonly loose?: true
  /** Values that a free setting may have. Absent for any. */
  readonly only?: Values
  /**
   * Data that are there are made for one value, chosen before a cluster is made. The field is the server's own choice.
   */
  readonly madeWith?: string
  /** Looked at with everything else while the server runs, and put right. */
  readonly watched?: Watched
  /** Another value as the default of all sessions would bind the sessions of agents. */
  readonly bindsAgents?: Bond
}

export type Values =
  | { readonly oneOf: readonly string[] }
  /** Numbers; `128M` is one. */
  | { readonly atLeast?: number; readonly atMost?: number }
  | { readonly like: RegExp; readonly words: string }

export interface Watched {
  /** The value to put right: that of `my.cnf` unless given. */
  readonly to?: string
  /** The word to take out of a list; the rest of the list stays as people have set it. */
  readonly without?: string
  /** Watched in this mode alone. */
  readonly mode?: ModeName
  /** With another value, what was committed may be nowhere after a crash, or its order proves nothing. */
  readonly restsDurability?: true
  /** With another value, writes of the sessions of clients that begin then are refused. */
  readonly refusesWrites?: true
  /** A change begins another binary log, which waits for every commit under way, and others wait for that. */
  readonly beginsBinlog?: true
  /** The group as a whole changes it while members run: by a function, and the server refuses `SET`. */
  readonly agreedOn?: true
}

/** `worst` is the value under which a test starts agents. */
type Bond = { readonly worst: string } & (
  | {
      /** What the agents' own sessions set, as SQL. */
      readonly session: string
    }
  | {
      /** Why the agents' sessions are not bound. */
      readonly exempt: string
    }
)

/** Whether a server that shows `value` has one of these. */
export function allows(only: Values, value: string): boolean {
  if ('oneOf' in only) return only.oneOf.some((one) => isSameValue(value, one))
  if ('like' in only) return only.like.test(value)
  const number = numberIn(value)
  return number >= (only.atLeast ?? -Infinity) && number <= (only.atMost ?? Infinity)
}

export function describeValues(only: Values): string {
  if ('oneOf' in only) return only.oneOf.map((one) => one || '""').join(', ')
  if ('like' in only) return only.words
  const { atLeast, atMost } = only
  if (atMost === undefined) return `${atLeast} or more`
  return atLeast === undefined ? `${atMost} or less` : `${atLeast} to ${atMost}`
}

/** The server shows ON as 1 in places, by its version. */
export function isSameValue(seen: string, wanted: string): boolean {
  return plain(seen) === plain(wanted)
}

function plain(value: string): string {
  return value.toUpperCase().replace(/^ON$/, '1').replace(/^OFF$/, '0')
}

const unit = 1_024
const sizes: Readonly<Record<string, number>> = { K: unit, M: unit ** 2, G: unit ** 3, T: unit ** 4 }

/** `128M` as SQL wants it: a file may say so, a statement may not. */
export function plainNumber(value: string): string {
  const [, number, letter = ''] = /^(\d{1,6})([KMGT])$/i.exec(value) ?? []
  const size = sizes[letter.toUpperCase()]
  return number === undefined || size === undefined ? value : String(Number(number) * size)
}

/** NaN where it is none: no limit allows that. */
function numberIn(value: string): number {
  return /^-?\d+(\.\d+)?$/.test(plainNumber(value)) ? Number(plainNumber(value)) : Number.NaN
}

type Value = NonNullable<Setting['value']>

export const managed = (name: string, value: Value, reason: string): Setting => ({
  name,
  kind: 'managed',
  value,
  reason,
})
/** Managed, and a running server takes another value from anybody with the right to set it. */
export const watched = (name: string, value: Value, reason: string, how: Watched = {}): Setting => ({
  ...managed(name, value, reason),
  watched: how,
})
export const ownDefault = (name: string, value: Value, reason: string): Setting => ({
  name,
  kind: 'free',
  value,
  reason,
})
export const free = (names: string, reason: string): readonly Setting[] =>
  names.split(/\s+/).map((name) => ({ name, kind: 'free', reason }))
export const refused = (names: string, reason: string): readonly Setting[] =>
  names.split(/\s+/).map((name) => ({ name, kind: 'refused', reason }))
export const within = (name: string, only: Values, reason: string): Setting => ({ name, kind: 'free', only, reason })
export const loose = (setting: Setting): Setting => ({ ...setting, loose: true })
export const fixed = (madeWith: string, setting: Setting): Setting => ({ ...setting, madeWith })

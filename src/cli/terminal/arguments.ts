import { InvalidArgumentError } from 'commander'
import { isIP } from 'node:net'

/** Parsers for options and arguments: each gives the value, or refuses it saying what is allowed. */

export function integerFrom(minimum: number, maximum: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : NaN
    if (value >= minimum && value <= maximum) return value
    throw new InvalidArgumentError(`Allowed is an integer from ${minimum} to ${maximum}.`)
  }
}

export function oneOf<Word extends string>(...words: readonly Word[]): (text: string) => Word {
  return (text) => {
    const word = words.find((candidate) => candidate === text)
    if (word !== undefined) return word
    throw new InvalidArgumentError(`Allowed is ${words.join(' or ')}.`)
  }
}

const unitsMs: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000 }

/** `500ms`, `10s`, `2m` as milliseconds, within limits. A bare number is refused: its unit would be a guess. */
export function durationFrom(minimumMs: number, maximumMs: number): (text: string) => number {
  return (text) => {
    const [, digits, unit] = /^(\d{1,9})(ms|s|m)$/.exec(text) ?? []
    const value = Number(digits) * (unitsMs[unit ?? ''] ?? NaN)
    if (value >= minimumMs && value <= maximumMs) return value
    throw new InvalidArgumentError(
      `Allowed is a number with its unit (ms, s or m) from ${minimumMs} ms to ${maximumMs / 1_000} s, for example 10s.`,
    )
  }
}

const longUnitsMs: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** `90s`, `30m`, `2h`, `7d` as milliseconds, within limits: for what people wait for, not programs. */
export function spanFrom(minimumMs: number, maximumMs: number): (text: string) => number {
  return (text) => {
    const [, digits, unit] = /^(\d{1,9})([smhd])$/.exec(text) ?? []
    const value = Number(digits) * (longUnitsMs[unit ?? ''] ?? NaN)
    if (value >= minimumMs && value <= maximumMs) return value
    throw new InvalidArgumentError(
      `Allowed is a number with its unit (s, m, h or d) from ${minimumMs / 1_000}s to ${maximumMs / 86_400_000}d, for example 2h.`,
    )
  }
}

/** Words that go into logs and sentences. */
export function lineArgument(longest: number): (text: string) => string {
  return (text) => {
    if (text.trim() !== '' && text.length <= longest && !/[\u0000-\u001f\u007f]/.test(text)) return text
    throw new InvalidArgumentError(`Allowed is one line of 1 to ${longest} characters.`)
  }
}

export function clusterArgument(text: string): string {
  if (/^[a-z](?:[a-z0-9-]{0,37}[a-z0-9])?$/.test(text)) return text
  throw new InvalidArgumentError(
    'Allowed are 1 to 39 lower-case letters, digits and dashes, a letter first and no dash last.',
  )
}

export function instanceArgument(text: string): string {
  if (/^[a-z](?:[a-z0-9-]{0,37}[a-z0-9])?-\d{1,2}$/.test(text)) return text
  throw new InvalidArgumentError('Instances are named <cluster>-<ordinal>, for example demo-0.')
}

/** The primary of now, of the only cluster or of a named one: `primary`, `demo/primary`. */
export function instanceOrPrimary(text: string): string {
  const cluster = /^(?:(.*)\/)?primary$/.exec(text)
  if (cluster === null) return instanceArgument(text)
  if (cluster[1] !== undefined) clusterArgument(cluster[1])
  return text
}

/** A cluster for commands that ask a manager, wherever it is. */
export function clusterReference(text: string): string {
  return withNamespace(text, clusterArgument)
}

export function instanceReference(text: string): string {
  return withNamespace(text, instanceArgument)
}

function withNamespace(text: string, named: (text: string) => string): string {
  const slash = text.indexOf('/')
  return slash === -1 ? named(text) : `${namespaceArgument(text.slice(0, slash))}/${named(text.slice(slash + 1))}`
}

export function namespaceArgument(text: string): string {
  if (/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(text)) return text
  throw new InvalidArgumentError('A namespace is 1 to 63 lower-case letters, digits and dashes, no dash first or last.')
}

export function contextArgument(text: string): string {
  if (text !== '') return text
  throw new InvalidArgumentError('Allowed is the name of a context in the kubeconfig.')
}

export function pathArgument(text: string): string {
  if (text !== '' && !text.includes('\0')) return text
  throw new InvalidArgumentError('Allowed is the path of a file or folder.')
}

/** An absolute http or https URL without credentials: tokens come from files. */
export function apiUrlArgument(text: string): string {
  const url = apiUrlIn(text)
  if (url !== undefined) return url
  throw new InvalidArgumentError(allowedApiUrl)
}

export const allowedApiUrl =
  'Allowed is an http:// or https:// URL without user and password, for example http://127.0.0.1:9500.'

/** Undefined where the text is none that is allowed. */
export function apiUrlIn(text: string): string | undefined {
  const url = URL.parse(text)
  const isAllowed = url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.password === ''
  return isAllowed ? text.replace(/\/+$/, '') : undefined
}

export function storeArgument(text: string): string {
  const url = URL.parse(text)
  if (text === 'file') return text
  if (url !== null && /^rediss?:$/.test(url.protocol) && url.hostname !== '') return withPassword(text, url)
  throw new InvalidArgumentError('Allowed is file, or the URL of a Redis: redis://host:port or rediss://host:port.')
}

/** From the environment, since every user of the machine can read a command line. */
function withPassword(text: string, url: URL): string {
  const password = process.env['REGENT_REDIS_PASSWORD'] ?? ''
  if (url.password !== '' || password === '') return text
  url.password = encodeURIComponent(password)
  return url.href
}

export function addressArgument(text: string): string {
  if (isIP(text) !== 0) return text
  throw new InvalidArgumentError('Allowed is an IP address.')
}

/** `[address]:port`, or `:port` for this machine alone. */
export function listenArgument(text: string): { readonly host: string; readonly port: number } {
  const [, bracketed, bare = '', digits = ''] = /^(?:\[([^\]]+)\]|([^:]*)):(\d{1,5})$/.exec(text) ?? []
  const host = bracketed ?? (bare === '' ? '127.0.0.1' : bare)
  const port = Number(digits)
  if (isIP(host) !== 0 && port >= 1 && port <= 65_535) return { host, port }
  throw new InvalidArgumentError('Allowed is <IP address>:<port>, or :<port> for 127.0.0.1.')
}

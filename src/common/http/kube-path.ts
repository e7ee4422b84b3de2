import { RegentError } from '../errors/errors.ts'
import { say } from '../sentence/sentence.ts'

/** What a request to the Kubernetes API is about. Any part may be what a stranger wrote into an object. */
export interface KubeTarget {
  /** '' for the core group. */
  readonly group: string
  readonly version: string
  readonly plural: string
  /** Absent or '': of all namespaces, or of none. */
  readonly namespace?: string
  /** Absent: all objects of the kind. */
  readonly name?: string
  readonly subresource?: string
}

export type KubeQuery = Readonly<Record<string, string | number | boolean | undefined>>

declare const made: unique symbol
/** A path with its query. Only `kubePath` makes one: text of others is no part of a path before it is judged. */
export type KubePath = string & { readonly [made]: true }

/**
 * The only place where paths of the Kubernetes API are made. A part that is no group, version, kind, namespace or name
 * is refused with `REGENT_BAD_REQUEST`, and each is encoded: a slash, a question mark or `..` in the text of a stranger
 * would lead a request of the manager, with all rights of the manager, to an object of somebody else.
 */
export function kubePath(target: KubeTarget, query: KubeQuery = {}): KubePath {
  const { group, version, plural, namespace = '', name, subresource } = target
  const segments = [
    ...(group === '' ? ['api'] : ['apis', judged('group', group)]),
    judged('version', version),
    ...(namespace === '' ? [] : ['namespaces', judged('namespace', namespace)]),
    judged('kind', plural),
    ...(name === undefined ? [] : [judged('name', name)]),
    ...(subresource === undefined ? [] : [judged('subresource', subresource)]),
  ]
  return `/${segments.map(encodeURIComponent).join('/')}${queryOf(query)}` as KubePath
}

const label = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?'
const shapes = {
  group: new RegExp(`^(?=.{1,253}$)${label}(?:\\.${label})*$`),
  version: /^v[1-9][0-9]{0,9}(?:(?:alpha|beta)[1-9][0-9]{0,9})?$/,
  namespace: new RegExp(`^${label}$`),
  kind: new RegExp(`^${label}$`),
  // Names of roles have colons and capitals.
  name: /^(?!\.\.?$)[A-Za-z0-9._:-]{1,253}$/,
  subresource: new RegExp(`^${label}$`),
} as const

/** Whether a text is that part of a path. */
export function isPathPart(part: keyof typeof shapes, text: string): boolean {
  return shapes[part].test(text)
}

function judged(part: keyof typeof shapes, text: string): string {
  if (isPathPart(part, text)) return text
  throw new RegentError(
    'REGENT_BAD_REQUEST',
    say`${JSON.stringify(text.slice(0, 80))} is no ${part} of the Kubernetes API: nothing is asked of the API server`,
  )
}

function queryOf(fields: KubeQuery): string {
  const given = Object.entries(fields).flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [[name, String(value)] as [string, string]],
  )
  return given.length === 0 ? '' : `?${new URLSearchParams(given).toString()}`
}

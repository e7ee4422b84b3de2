import { codeOf } from '#common/errors/errors.ts'
import { isSameKey, type Key } from '../documents/key.ts'
import type { Answer } from './answers.ts'
import type { Call } from './route.ts'

/** Whom a request names, where another manager could know somebody of that name, too. */
export interface Meant {
  readonly name: string
  /** By which route another manager tells whether it knows that name. */
  readonly path: string
  readonly isOwn: boolean
  /** The exact name of a server; a cluster has several names. */
  readonly key: Key | undefined
}

/** Undefined where nobody is named, or by an address, which one server alone has. */
export function meantBy(call: Call): Meant | undefined {
  const { clusterHint, clusterAlias, host, port = '' } = call.params
  const hint = clusterHint ?? clusterAlias
  if (hint !== undefined)
    return {
      ...{ name: hint, path: `cluster-info/${encodeURIComponent(hint)}`, key: undefined },
      isOwn: found(() => call.clusterNamed(hint)) !== undefined,
    }
  if (host === undefined) return undefined
  const server = found(() => call.server)
  if (server?.host === host) return undefined
  return {
    ...{ name: host, path: `instance/${encodeURIComponent(host)}/${encodeURIComponent(port)}` },
    ...{ isOwn: server !== undefined, key: { Hostname: host, Port: Number(port) } },
  }
}

/** A server is known by host and port together. Where no server is meant, any answer will do. */
export function isKnownBy({ status, body }: Answer, { key }: Meant): boolean {
  const { Key } = (body ?? {}) as { readonly Key?: Key }
  return status === 200 && (key === undefined || (Key !== undefined && isSameKey(Key, key)))
}

/** What several own clusters could mean is refused elsewhere. */
function found<T>(look: () => T): T | undefined {
  try {
    return look()
  } catch (error) {
    if (codeOf(error) === 'REGENT_INTERNAL') throw error
    return undefined
  }
}

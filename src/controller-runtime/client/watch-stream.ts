import { RegentError } from '#common/errors/errors.ts'
import { reported, say, type Sayable, text } from '#common/sentence/sentence.ts'
import { KubeApiError } from './kube-api-error.ts'
import type { WatchEvent } from './kube-client.ts'
import { apiVersionOf, type KubeObject, type Resource } from '../objects/objects.ts'

/** etcd holds nothing nearly as large; what is longer is no event. */
const longestLineBytes = 64 * 1024 * 1024

/**
 * The events of a watch's body, one JSON document a line. An `ERROR` event is thrown as KubeApiError; a line that is no
 * event, and a body that ends in the middle of one, as `REGENT_KUBE_API`: skipping it would lose a change without
 * anybody knowing.
 */
export async function* watchEvents<Kind extends KubeObject>(
  resource: Resource<Kind>,
  body: AsyncIterable<Uint8Array>,
): AsyncGenerator<WatchEvent<Kind>> {
  for await (const line of linesOf(body)) yield eventIn(resource, line)
}

/** Splits on bytes, not on text: a chunk may end inside a character. */
async function* linesOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let pieces: Uint8Array[] = []
  let size = 0
  for await (const chunk of body) {
    let start = 0
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
      const line = Buffer.concat([...pieces, chunk.subarray(start, end)]).toString('utf8')
      pieces = []
      size = 0
      start = end + 1
      if (line.trim() !== '') yield line
    }
    if (start < chunk.length) pieces.push(chunk.subarray(start))
    size += chunk.length - start
    if (size > longestLineBytes) throw unreadable(say`an event is longer than ${longestLineBytes} bytes`)
  }
  if (size > 0) throw unreadable(say`the stream ended ${size} bytes into an event`)
}

const newline = 0x0a

function eventIn<Kind extends KubeObject>(resource: Resource<Kind>, line: string): WatchEvent<Kind> {
  const { type, object: given } = parse(line)
  const object = given ?? {}
  const { name, resourceVersion } = object.metadata ?? {}
  switch (type) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
      if (typeof name !== 'string') throw unreadable(say`a ${type} event holds no object: ${text(excerpt(line))}`)
      return { type, object: withType(resource, object as unknown as Kind) }
    case 'BOOKMARK':
      if (typeof resourceVersion !== 'string')
        throw unreadable(say`a bookmark without a version: ${text(excerpt(line))}`)
      return { type, resourceVersion }
    case 'ERROR':
      throw statusError(say`watching ${resource.plural}`, object)
    default:
      throw unreadable(say`an event of unknown type: ${text(excerpt(line))}`)
  }
}

interface RawEvent {
  readonly type?: unknown
  readonly object?: RawStatus & { readonly metadata?: { readonly name?: unknown; readonly resourceVersion?: unknown } }
}

/** A Status object, as far as it is there. */
export interface RawStatus {
  readonly code?: unknown
  readonly reason?: unknown
  readonly message?: unknown
  readonly details?: { readonly retryAfterSeconds?: unknown }
}

function parse(line: string): RawEvent {
  try {
    const value: unknown = JSON.parse(line)
    if (typeof value === 'object' && value !== null) return value
  } catch {
    // Said below, with what was read.
  }
  throw unreadable(say`a line that is no event: ${text(excerpt(line))}`)
}

/** The error that a Status object tells of. */
export function statusError(what: Sayable, status: RawStatus): KubeApiError {
  const message = typeof status.message === 'string' ? say`${reported(status.message)}` : say`no reason given`
  const wait = status.details?.retryAfterSeconds
  return new KubeApiError(say`${what}: ${message}`, {
    status: typeof status.code === 'number' ? status.code : 500,
    reason: typeof status.reason === 'string' && status.reason !== '' ? status.reason : undefined,
    retryAfterMs: typeof wait === 'number' && wait > 0 ? wait * 1_000 : undefined,
  })
}

/**
 * Objects of the built-in kinds come without kind and apiVersion in lists, and must not differ from those of a watch.
 */
export function withType<Kind extends KubeObject>(resource: Resource<Kind>, object: Kind): Kind {
  return object.kind && object.apiVersion
    ? object
    : { ...object, kind: resource.kind, apiVersion: apiVersionOf(resource) }
}

function unreadable(what: Sayable): RegentError {
  return new RegentError('REGENT_KUBE_API', say`the API server’s watch stream is damaged: ${what}`)
}

function excerpt(line: string): string {
  return JSON.stringify(line.slice(0, 120))
}

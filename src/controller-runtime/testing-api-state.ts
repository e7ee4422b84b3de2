import { isDeepStrictEqual } from 'node:util'
import type { JsonPatchOperation } from './client/kube-client.ts'

/** What the fake API server keeps: objects with versions, and the history its watches replay. */

export interface StoredObject {
  apiVersion?: string
  kind?: string
  metadata: {
    name: string
    namespace?: string
    uid?: string
    resourceVersion?: string
    generation?: number
    labels?: Record<string, string>
    finalizers?: string[]
    deletionTimestamp?: string
    creationTimestamp?: string
  }
  spec?: unknown
  status?: unknown
}

export interface StoredEvent {
  readonly version: number
  /** Which kind: `apps/v1/statefulsets`. */
  readonly kind: string
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly object: StoredObject
}

/** How the API server refuses. */
export class FakeRefusal extends Error {
  readonly status: number
  readonly reason: string

  constructor(status: number, reason: string, message: string) {
    super(message)
    this.status = status
    this.reason = reason
  }
}

export interface Written {
  readonly kind: string
  readonly namespace: string
  readonly name: string
  readonly subresource: string | undefined
}

export class FakeApiState {
  #version = 100
  #uids = 0
  /** Watches cannot begin before this version. */
  #compactedTo = 0
  #history: StoredEvent[] = []
  readonly #objects = new Map<string, Map<string, StoredObject>>()
  /** Called with every change. */
  onEvent: (event: StoredEvent) => void = () => undefined

  get version(): string {
    return String(this.#version)
  }

  /** Everything older than now is gone, as after etcd's compaction. */
  compact(): void {
    this.#history = []
    this.#compactedTo = this.#version
  }

  /** What happened after a version; undefined where that is forgotten. */
  eventsAfter(version: number): readonly StoredEvent[] | undefined {
    return version < this.#compactedTo ? undefined : this.#history.filter((event) => event.version > version)
  }

  all(kind: string): readonly StoredObject[] {
    return [...(this.#objects.get(kind) ?? new Map<string, StoredObject>()).entries()]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([, object]) => object)
  }

  find({ kind, namespace, name }: Written): StoredObject {
    const found = this.#objects.get(kind)?.get(`${namespace}/${name}`)
    if (found === undefined) throw new FakeRefusal(404, 'NotFound', `${kind} "${name}" not found`)
    return found
  }

  create(kind: string, namespace: string, given: StoredObject): StoredObject {
    const { name } = given.metadata
    if (this.#objects.get(kind)?.has(`${namespace}/${name}`))
      throw new FakeRefusal(409, 'AlreadyExists', `${kind} "${name}" already exists`)
    const metadata = {
      ...given.metadata,
      ...(namespace === '' ? {} : { namespace }),
      uid: `uid-${++this.#uids}`,
      generation: 1,
      creationTimestamp: '2030-01-01T00:00:00Z',
    }
    return this.#store('ADDED', kind, { ...given, metadata })
  }

  update(where: Written, given: StoredObject): StoredObject {
    const before = this.find(where)
    const { resourceVersion, uid } = given.metadata
    if (resourceVersion !== undefined && resourceVersion !== before.metadata.resourceVersion) {
      throw new FakeRefusal(409, 'Conflict', `${where.kind} "${where.name}": the object has been modified`)
    }
    if (uid !== undefined && uid !== before.metadata.uid)
      throw new FakeRefusal(409, 'Conflict', `${where.kind} "${where.name}": another uid`)
    return this.#replace(where, before, given)
  }

  mergePatch(where: Written, patch: unknown): StoredObject {
    const before = this.find(where)
    return this.update(where, merged(before, patch) as StoredObject)
  }

  jsonPatch(where: Written, operations: readonly JsonPatchOperation[]): StoredObject {
    const draft = structuredClone(this.find(where))
    for (const operation of operations) applyOperation(draft, operation)
    return this.update(where, draft)
  }

  delete(where: Written, preconditions: { uid?: string; resourceVersion?: string } = {}): StoredObject {
    const before = this.find(where)
    const { metadata } = before
    const differs = (wanted: string | undefined, is: string | undefined): boolean =>
      wanted !== undefined && wanted !== is
    if (differs(preconditions.uid, metadata.uid) || differs(preconditions.resourceVersion, metadata.resourceVersion)) {
      throw new FakeRefusal(409, 'Conflict', `${where.kind} "${where.name}": the precondition failed`)
    }
    if ((metadata.finalizers ?? []).length > 0)
      return this.#store('MODIFIED', where.kind, {
        ...before,
        metadata: { ...metadata, deletionTimestamp: '2030-01-01T00:00:00Z' },
      })
    return this.#store('DELETED', where.kind, before)
  }

  #replace({ kind, subresource }: Written, before: StoredObject, given: StoredObject): StoredObject {
    if (subresource === 'status') return this.#store('MODIFIED', kind, { ...before, status: given.status })
    const { deletionTimestamp, generation = 1 } = before.metadata
    const kept = Object.fromEntries(
      fixedFields.flatMap((field) => (before.metadata[field] === undefined ? [] : [[field, before.metadata[field]]])),
    )
    const metadata = {
      ...given.metadata,
      ...kept,
      generation: isDeepStrictEqual(before.spec, given.spec) ? generation : generation + 1,
    }
    const after = { ...given, metadata, ...(before.status === undefined ? {} : { status: before.status }) }
    const gone = deletionTimestamp !== undefined && (given.metadata.finalizers ?? []).length === 0
    return this.#store(gone ? 'DELETED' : 'MODIFIED', kind, after)
  }

  #store(type: StoredEvent['type'], kind: string, object: StoredObject): StoredObject {
    const version = ++this.#version
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } }
    const objects = this.#objects.get(kind) ?? new Map<string, StoredObject>()
    this.#objects.set(kind, objects)
    const key = `${stored.metadata.namespace ?? ''}/${stored.metadata.name}`
    if (type === 'DELETED') objects.delete(key)
    else objects.set(key, stored)
    const event = { version, kind, type, object: stored }
    this.#history.push(event)
    this.onEvent(event)
    return stored
  }
}

/** What no write of an object changes. */
const fixedFields = ['namespace', 'uid', 'creationTimestamp', 'deletionTimestamp'] as const

/** RFC 7386. */
function merged(target: unknown, patch: unknown): unknown {
  if (!isRecord(patch)) return patch
  const result: Record<string, unknown> = isRecord(target) ? { ...target } : {}
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete result[name]
    else result[name] = merged(result[name], value)
  }
  return result
}

function applyOperation(target: unknown, { op, path, value }: JsonPatchOperation): void {
  const names = path
    .split('/')
    .slice(1)
    .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'))
  const last = names.pop() ?? ''
  let at = target
  // Through lists too, by position.
  for (const name of names) at = (at as Readonly<Record<string, unknown>> | null | undefined)?.[name]
  if (!isRecord(at)) throw new FakeRefusal(422, 'Invalid', `no such path: ${path}`)
  if (op === 'test' && !isDeepStrictEqual(at[last], value))
    throw new FakeRefusal(422, 'Invalid', `the test at ${path} failed`)
  if (op === 'remove') delete at[last]
  if (op === 'add' || op === 'replace') at[last] = value
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

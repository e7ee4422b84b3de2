import { RegentError } from '#common/errors/errors.ts'
import { say, type Sayable } from '#common/sentence/sentence.ts'
import { kubePath, type KubePath, type KubeQuery } from '#common/http/kube-path.ts'
import type { World } from '#common/ports/ports.ts'
import { ClientThrottle, defaultThrottle, type ThrottleOptions } from './client-throttle.ts'
import { isNotFound } from './kube-api-error.ts'
import type {
  JsonPatch,
  KubeClient,
  ListOptions,
  MergePatch,
  ObjectList,
  RequestOptions,
  Selection,
  UpdateOptions,
  WatchEvent,
  WatchOptions,
} from './kube-client.ts'
import type { KubeConnection } from '../kube-config/kube-config.ts'
import { KubeTransport, type KubeRequest, type RequestRecord } from './kube-transport.ts'
import { keyOf, keyText, type KubeObject, type ObjectKey, type Resource } from '../objects/objects.ts'
import { watchEvents, withType } from './watch-stream.ts'

export interface KubeClientParts {
  readonly connection: KubeConnection
  readonly world: World
  /** The client's name, as audit logs and the API server's fairness see it: `regent/0.1.0 manager`. */
  readonly userAgent: string
  /** A lease elector gets a client of its own without a limit: its renewals must not queue behind reconciles. */
  readonly throttle?: ThrottleOptions
  /** Called for every answer, for metrics. */
  readonly onRequest?: (record: RequestRecord) => void
}

const defaultDeadlineMs = 30_000
/** A watch that its server should have ended this long ago is dead. */
const overdueMs = 30_000

/** The Kubernetes API over HTTP. `close` ends every connection. */
export function createKubeClient(parts: KubeClientParts): KubeClient & { close(): Promise<void> } {
  const { world } = parts
  const transport = new KubeTransport({
    ...parts,
    throttle: new ClientThrottle(parts.throttle ?? defaultThrottle, world),
  })

  async function ask<Kind extends KubeObject>(
    resource: Resource<Kind>,
    asked: Omit<KubeRequest, keyof RequestOptions>,
    options: RequestOptions = {},
  ): Promise<Kind> {
    const answer = await transport.json({ ...asked, ...bounds(options) })
    if (!isObject(answer)) throw noAnswer(asked.path, say`object`)
    return withType(resource, answer as unknown as Kind)
  }

  return {
    async get(resource, key, options) {
      const path = objectPath(resource, key)
      try {
        const found = await ask(resource, { method: 'GET', path }, options)
        const { name, namespace = '' } = found.metadata
        if (name === key.name && namespace === (resource.namespaced ? key.namespace : '')) return found
        throw new RegentError('REGENT_KUBE_API', say`${path}: the answer is another object, ${keyText(keyOf(found))}`)
      } catch (error) {
        if (isNotFound(error)) return undefined
        throw error
      }
    },

    async list<Kind extends KubeObject>(
      resource: Resource<Kind>,
      options: ListOptions = {},
    ): Promise<ObjectList<Kind>> {
      const path = collectionPath(resource, options.namespace, {
        ...selectors(options),
        limit: options.limit,
        continue: options.continue,
        resourceVersion: options.resourceVersion,
      })
      const { mostBytes } = options
      const answer = await transport.json({ method: 'GET', path, mostBytes, ...bounds(options) })
      return listIn(resource, answer, path)
    },

    async *watch<Kind extends KubeObject>(
      resource: Resource<Kind>,
      options: WatchOptions,
    ): AsyncGenerator<WatchEvent<Kind>> {
      const path = collectionPath(resource, options.namespace, {
        ...selectors(options),
        watch: true,
        allowWatchBookmarks: true,
        resourceVersion: options.resourceVersion,
        timeoutSeconds: options.timeoutSeconds,
      })
      const whole = new AbortController()
      const giveUp = (): void => whole.abort(options.signal?.reason)
      if (options.signal?.aborted) giveUp()
      options.signal?.addEventListener('abort', giveUp, { once: true })
      const overdue = world.timers.after(options.timeoutSeconds * 1_000 + overdueMs, () =>
        whole.abort(new RegentError('REGENT_KUBE_UNREACHABLE', say`the API server did not end ${path} in time`)),
      )
      try {
        yield* watchEvents(
          resource,
          await transport.stream({ method: 'GET', path, deadlineMs: defaultDeadlineMs }, whole.signal),
        )
      } catch (error) {
        if (whole.signal.aborted) throw whole.signal.reason
        throw error instanceof RegentError
          ? error
          : new RegentError('REGENT_KUBE_UNREACHABLE', say`${path}: the stream broke`, { cause: error })
      } finally {
        overdue.cancel()
        options.signal?.removeEventListener('abort', giveUp)
      }
    },

    async create(resource, object, options = {}) {
      const key = requireWhole(resource, keyOf(object))
      return ask(
        resource,
        {
          method: 'POST',
          path: collectionPath(resource, key.namespace, { fieldManager: options.fieldManager }),
          body: object,
        },
        options,
      )
    },

    update: async (resource, object, options = {}) =>
      ask(resource, { method: 'PUT', path: objectPath(resource, keyOf(object), options), body: object }, options),

    apply: async (resource, object, options) =>
      ask(
        resource,
        {
          method: 'PATCH',
          path: objectPath(resource, keyOf(object), options),
          body: object,
          contentType: 'application/apply-patch+yaml',
        },
        options,
      ),

    patch: async (resource, key, patch: JsonPatch | MergePatch, options = {}) =>
      ask(
        resource,
        {
          method: 'PATCH',
          path: objectPath(resource, key, options),
          body: patch,
          contentType: Array.isArray(patch) ? 'application/json-patch+json' : 'application/merge-patch+json',
        },
        options,
      ),

    async delete(resource, key, options = {}) {
      const { uid, resourceVersion, propagationPolicy, gracePeriodSeconds } = options
      const preconditions = uid === undefined && resourceVersion === undefined ? undefined : { uid, resourceVersion }
      const body = { kind: 'DeleteOptions', apiVersion: 'v1', propagationPolicy, gracePeriodSeconds, preconditions }
      await transport.json({ method: 'DELETE', path: objectPath(resource, key), body, ...bounds(options) })
    },

    close: () => transport.close(),
  }
}

function bounds({
  deadlineMs = defaultDeadlineMs,
  signal,
  guard,
}: RequestOptions): Pick<KubeRequest, keyof RequestOptions> {
  return { deadlineMs, signal, guard }
}

/** @param namespace undefined for all of them, '' for what belongs to none. */
function collectionPath(resource: Resource, namespace: string | undefined, query: KubeQuery): KubePath {
  return kubePath({ ...resource, ...(resource.namespaced && namespace !== undefined && { namespace }) }, query)
}

function objectPath(
  resource: Resource,
  key: ObjectKey,
  options: UpdateOptions & { readonly force?: boolean } = {},
): KubePath {
  const { name, namespace } = requireWhole(resource, key)
  const { subresource, fieldManager, force } = options
  const target = { ...resource, name, ...(resource.namespaced && { namespace }), ...(subresource && { subresource }) }
  return kubePath(target, { fieldManager, force })
}

/** An empty name or namespace would turn a write to one object into one to all of them. */
function requireWhole(resource: Resource, key: ObjectKey): ObjectKey {
  if (key.name !== '' && (!resource.namespaced || key.namespace !== '')) return key
  throw new RegentError(
    'REGENT_BAD_REQUEST',
    say`${resource.kind} "${key.namespace}/${key.name}": name or namespace is missing`,
  )
}

function selectors({ labelSelector, fieldSelector }: Selection): Pick<Selection, 'labelSelector' | 'fieldSelector'> {
  return {
    ...(labelSelector === undefined ? {} : { labelSelector }),
    ...(fieldSelector === undefined ? {} : { fieldSelector }),
  }
}

function listIn<Kind extends KubeObject>(resource: Resource<Kind>, answer: unknown, path: string): ObjectList<Kind> {
  const { items, metadata } = isObject(answer)
    ? (answer as {
        readonly items?: unknown
        readonly metadata?: { readonly resourceVersion?: unknown; readonly continue?: unknown }
      })
    : {}
  // Go writes an empty list as null.
  const found = items === null ? [] : items
  if (!Array.isArray(found) || typeof metadata?.resourceVersion !== 'string') throw noAnswer(path, say`list`)
  const more = typeof metadata.continue === 'string' && metadata.continue !== '' ? { continue: metadata.continue } : {}
  return {
    items: (found as Kind[]).map((object) => withType(resource, object)),
    resourceVersion: metadata.resourceVersion,
    ...more,
  }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

function noAnswer(path: string, what: Sayable): RegentError {
  return new RegentError('REGENT_KUBE_API', say`${path}: the answer is no ${what}`)
}

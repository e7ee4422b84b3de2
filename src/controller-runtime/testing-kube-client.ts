import { KubeApiError } from './client/kube-api-error.ts'
import type {
  ApplyOptions,
  DeleteOptions,
  JsonPatch,
  KubeClient,
  ListOptions,
  MergePatch,
  ObjectList,
  UpdateOptions,
  WatchEvent,
  WatchOptions,
} from './client/kube-client.ts'
import { apiVersionOf, keyOf, type KubeObject, type ObjectKey, type Resource } from './objects/objects.ts'
import { FakeApiState, FakeRefusal, type StoredObject, type Written } from './testing-api-state.ts'
import { reported, say } from '#common/sentence/sentence.ts'

/** A watch whose events a test gives by hand. */
export class ScriptedWatch<Kind extends KubeObject> implements AsyncIterable<WatchEvent<Kind>> {
  readonly options: WatchOptions
  #waiting: PromiseWithResolvers<IteratorResult<WatchEvent<Kind>>> | undefined
  readonly #queue: (() => Promise<IteratorResult<WatchEvent<Kind>>>)[] = []

  constructor(options: WatchOptions) {
    this.options = options
  }

  send(type: 'ADDED' | 'MODIFIED' | 'DELETED', object: Kind): void {
    this.#push(async () => ({ done: false, value: { type, object } }))
  }

  bookmark(resourceVersion: string): void {
    this.#push(async () => ({ done: false, value: { type: 'BOOKMARK', resourceVersion } }))
  }

  end(): void {
    this.#push(async () => ({ done: true, value: undefined }))
  }

  fail(error: Error): void {
    this.#push(() => Promise.reject(error))
  }

  /** Deaf to its signal, as a stream that hangs. */
  [Symbol.asyncIterator](): AsyncIterator<WatchEvent<Kind>> {
    return {
      next: () => {
        const ready = this.#queue.shift()
        if (ready !== undefined) return ready()
        this.#waiting = Promise.withResolvers()
        return this.#waiting.promise
      },
    }
  }

  #push(result: () => Promise<IteratorResult<WatchEvent<Kind>>>): void {
    const waiting = this.#waiting
    this.#waiting = undefined
    if (waiting === undefined) this.#queue.push(result)
    else result().then(waiting.resolve, waiting.reject)
  }
}

/**
 * A client without a network for tests on a virtual clock: objects are kept by a FakeApiState, watches are fed by hand.
 * `before` is awaited before every request takes effect, and may throw or hang.
 */
export class ScriptedClient implements KubeClient {
  readonly state = new FakeApiState()
  readonly calls: string[] = []
  readonly lists: ListOptions[] = []
  readonly watches: ScriptedWatch<KubeObject>[] = []
  before: (verb: string, call: number) => Promise<void> | void = () => undefined
  /** What a list gives, where it is not what there is. */
  onList: ((options: ListOptions) => ObjectList<KubeObject>) | undefined

  get lastWatch(): ScriptedWatch<KubeObject> {
    const last = this.watches.at(-1)
    if (last === undefined) throw new Error('nobody watches')
    return last
  }

  async get<Kind extends KubeObject>(resource: Resource<Kind>, key: ObjectKey): Promise<Kind | undefined> {
    try {
      return await this.#do('get', () => this.state.find(where(resource, key)) as unknown as Kind)
    } catch (error) {
      if (error instanceof KubeApiError && error.status === 404) return undefined
      throw error
    }
  }

  async list<Kind extends KubeObject>(resource: Resource<Kind>, options: ListOptions = {}): Promise<ObjectList<Kind>> {
    this.lists.push(options)
    return this.#do(
      'list',
      () =>
        (this.onList?.(options) ?? {
          items: this.state
            .all(kindOf(resource))
            .filter(({ metadata }) => (options.namespace ?? metadata.namespace) === metadata.namespace),
          resourceVersion: this.state.version,
        }) as ObjectList<Kind>,
    )
  }

  watch<Kind extends KubeObject>(_resource: Resource<Kind>, options: WatchOptions): AsyncIterable<WatchEvent<Kind>> {
    const watch = new ScriptedWatch<Kind>(options)
    this.watches.push(watch as unknown as ScriptedWatch<KubeObject>)
    this.calls.push('watch')
    return watch
  }

  create<Kind extends KubeObject>(resource: Resource<Kind>, object: Kind): Promise<Kind> {
    return this.#do(
      'create',
      () => this.state.create(kindOf(resource), object.metadata.namespace ?? '', stored(object)) as unknown as Kind,
    )
  }

  update<Kind extends KubeObject>(resource: Resource<Kind>, object: Kind, options: UpdateOptions = {}): Promise<Kind> {
    return this.#do(
      'update',
      () => this.state.update(where(resource, keyOf(object), options.subresource), stored(object)) as unknown as Kind,
    )
  }

  apply<Kind extends KubeObject>(
    resource: Resource<Kind>,
    object: KubeObject & object,
    options: ApplyOptions,
  ): Promise<Kind> {
    return this.#do(
      'apply',
      () => this.state.mergePatch(where(resource, keyOf(object), options.subresource), object) as unknown as Kind,
    )
  }

  patch<Kind extends KubeObject>(
    resource: Resource<Kind>,
    key: ObjectKey,
    patch: JsonPatch | MergePatch,
    options: UpdateOptions = {},
  ): Promise<Kind> {
    const at = where(resource, key, options.subresource)
    return this.#do(
      'patch',
      () =>
        (Array.isArray(patch)
          ? this.state.jsonPatch(at, patch as JsonPatch)
          : this.state.mergePatch(at, patch)) as unknown as Kind,
    )
  }

  async delete(resource: Resource, key: ObjectKey, options: DeleteOptions = {}): Promise<void> {
    await this.#do('delete', () => this.state.delete(where(resource, key), options))
  }

  async #do<Result>(verb: string, work: () => Result): Promise<Result> {
    this.calls.push(verb)
    await this.before(verb, this.calls.length)
    try {
      return structuredClone(work())
    } catch (error) {
      if (error instanceof FakeRefusal)
        throw new KubeApiError(say`${reported(error.message)}`, { status: error.status, reason: error.reason })
      throw error
    }
  }
}

function kindOf(resource: Resource): string {
  return `${apiVersionOf(resource)}/${resource.plural}`
}

function where(resource: Resource, key: ObjectKey, subresource?: string): Written {
  return { kind: kindOf(resource), namespace: key.namespace, name: key.name, subresource }
}

function stored(object: KubeObject): StoredObject {
  return structuredClone(object) as unknown as StoredObject
}

import type { ByteRange, Interruptible, ObjectStore, PutOptions } from '../object-store.ts'
import type { Throttle } from './throttle.ts'

/** The same store, whose puts share a rate. */
export function throttledStore(store: ObjectStore, throttle: Throttle): ObjectStore {
  async function* paced(content: AsyncIterable<Uint8Array>, signal: AbortSignal | undefined) {
    for await (const chunk of content) {
      await throttle.pass(chunk.length, signal)
      yield chunk
    }
  }
  return {
    address: store.address,
    put: (key: string, content: AsyncIterable<Uint8Array>, options: PutOptions = {}) =>
      store.put(key, paced(content, options.signal), options),
    async putIfAbsent(key: string, content: Uint8Array, options: Interruptible = {}) {
      await throttle.pass(content.length, options.signal)
      return store.putIfAbsent(key, content, options)
    },
    get: (key: string, range?: ByteRange, options?: Interruptible) => store.get(key, range, options),
    list: (prefix: string, options?: Interruptible) => store.list(prefix, options),
    delete: (keys: readonly string[], options?: Interruptible) => store.delete(keys, options),
    dropUnfinished: (prefix: string, beforeMs: number, options?: Interruptible) =>
      store.dropUnfinished(prefix, beforeMs, options),
    close: () => store.close(),
  }
}

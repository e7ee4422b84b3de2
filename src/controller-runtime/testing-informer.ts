import type { InformerHandler, InformerPort } from './informers/informer-port.ts'
import { keyOf, keyText, type KubeObject } from './objects/objects.ts'

/** An informer whose changes a test makes; `finishFirstList` where it has not synced from the start. */
export interface TestingInformer<Kind extends KubeObject = KubeObject> extends InformerPort<Kind> {
  /** The object was created or changed. */
  put(object: Kind): void
  delete(object: Kind): void
  resync(): void
  finishFirstList(): void
  readonly handlers: number
}

export function testingInformer<Kind extends KubeObject = KubeObject>(
  name: string,
  present: readonly Kind[] = [],
  synced = true,
): TestingInformer<Kind> {
  const objects = new Map(present.map((object) => [textOf(object), object]))
  const handlers = new Set<InformerHandler<Kind>>()
  return {
    name,
    hasSynced: () => synced,
    addHandler(handler) {
      handlers.add(handler)
      for (const object of objects.values()) handler.added(object)
      return () => void handlers.delete(handler)
    },
    get: (key) => objects.get(keyText(key)),
    list: () => [...objects.values()],
    put(object) {
      const before = objects.get(textOf(object))
      objects.set(textOf(object), object)
      for (const handler of handlers) {
        if (before) handler.updated(before, object)
        else handler.added(object)
      }
    },
    delete(object) {
      objects.delete(textOf(object))
      for (const handler of handlers) handler.deleted(object)
    },
    resync: () => objects.forEach((object) => handlers.forEach((handler) => handler.updated(object, object))),
    finishFirstList: () => void (synced = true),
    get handlers() {
      return handlers.size
    },
  }
}

function textOf(object: KubeObject): string {
  return keyText(keyOf(object))
}

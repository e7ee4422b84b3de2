import { expect, test } from 'vitest'
import * as fc from 'fast-check'
import { Indexer, labelValue, ownerUids } from './indexer.ts'
import { configMap } from '../testing-kinds.ts'
import type { ConfigMap } from '../objects/config-map.ts'

function indexer(): Indexer<ConfigMap> {
  return new Indexer<ConfigMap>({ app: labelValue('app'), owner: ownerUids })
}

function namesOf(objects: readonly ConfigMap[]): readonly string[] {
  return objects.map(({ metadata }) => metadata.name).sort()
}

test('objects are found by key, namespace, label and owner', () => {
  const objects = indexer()
  const owned = configMap('owned')
  objects.put({
    ...owned,
    metadata: { ...owned.metadata, ownerReferences: [{ apiVersion: 'v1', kind: 'Widget', name: 'w', uid: 'u-1' }] },
  })
  objects.put(configMap('a', {}, { app: 'shop' }))
  objects.put({
    ...configMap('b', {}, { app: 'shop' }),
    metadata: { name: 'b', namespace: 'other', labels: { app: 'shop' } },
  })
  expect(objects.get({ namespace: 'other', name: 'b' })?.metadata.name).toBe('b')
  expect(objects.get({ namespace: 'prod', name: 'b' })).toBeUndefined()
  expect(namesOf(objects.list('prod'))).toEqual(['a', 'owned'])
  expect(namesOf(objects.byIndex('app', 'shop'))).toEqual(['a', 'b'])
  expect(namesOf(objects.byIndex('owner', 'u-1'))).toEqual(['owned'])
})

test('an index that was never declared is an error, not an empty answer', () => {
  expect(() => indexer().byIndex('owners', 'u-1')).toThrow('there are app, owner')
})

test('what is given out cannot be changed', () => {
  const objects = indexer()
  objects.put(configMap('a', { key: 'value' }))
  const given = objects.get({ namespace: 'prod', name: 'a' }) as unknown as {
    data: Record<string, string>
    metadata: { labels: Record<string, string> }
  }
  expect(() => (given.data['key'] = 'other')).toThrow(TypeError)
  expect(() => (given.metadata.labels['x'] = 'y')).toThrow(TypeError)
})

test('after any puts and removals the index says what a search through everything says', () => {
  const change = fc.record({
    name: fc.constantFrom('a', 'b', 'c', 'd'),
    app: fc.option(fc.constantFrom('x', 'y')),
    gone: fc.boolean(),
  })
  fc.assert(
    fc.property(fc.array(change, { maxLength: 40 }), (changes) => {
      const objects = indexer()
      for (const { name, app, gone } of changes) {
        const object = configMap(name, {}, app === null ? {} : { app })
        if (gone) objects.remove({ namespace: 'prod', name })
        else objects.put(object)
      }
      for (const app of ['x', 'y'])
        expect(namesOf(objects.byIndex('app', app))).toEqual(
          namesOf(objects.list().filter(({ metadata }) => metadata.labels?.['app'] === app)),
        )
    }),
  )
})

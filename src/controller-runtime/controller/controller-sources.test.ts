import { expect, it } from 'vitest'
import { watchFor, watchMapped, watchOwned, type Source } from './controller-sources.ts'
import { keyText } from '../objects/objects.ts'
import { withController, withOwner } from '../objects/owner-references.ts'
import { generationChanged, labelled } from './predicates.ts'
import { testingInformer } from '../testing-informer.ts'
import { configMap, node, nodes, widget, widgets } from '../testing-objects.ts'

/** What `source` has enqueued since it was last asked. */
function enqueuedBy(source: Source): () => string[] {
  const keys: string[] = []
  source.start((key) => keys.push(keyText(key)))
  return () => keys.splice(0)
}

it('Each change of the controller’s own kind asks for a run of the object, also what was there before and a resync', () => {
  const informer = testingInformer('widgets', [widget('old')])
  const enqueued = enqueuedBy(watchFor(informer))
  expect(enqueued()).toEqual(['shop/old'])
  informer.put(widget('a'))
  informer.delete(widget('a'))
  informer.resync()
  expect(enqueued()).toEqual(['shop/a', 'shop/a', 'shop/old'])
})

it('A change of an owned object asks for a run of its controller, and of no other owner', () => {
  const informer = testingInformer('configmaps')
  const enqueued = enqueuedBy(watchOwned(informer, widgets))
  informer.put(withOwner(withController(configMap('c'), widget('a')), widget('b')))
  informer.put(configMap('of nobody'))
  informer.put(withController(configMap('of a node'), node('n')))
  expect(enqueued()).toEqual(['shop/a'])
  const ofNodes = enqueuedBy(watchOwned(informer, nodes))
  expect(ofNodes()).toEqual(['n'])
})

it('When an object changes hands, its old controller hears of it and its new one', () => {
  const informer = testingInformer('configmaps', [withController(configMap('c'), widget('a'))])
  const enqueued = enqueuedBy(watchOwned(informer, widgets))
  enqueued()
  informer.put(withController(configMap('c'), widget('b')))
  expect(enqueued()).toEqual(['shop/a', 'shop/b'])
})

it('A change of a kind that concerns others asks for runs of all whom it concerns', () => {
  const informer = testingInformer('nodes')
  const enqueued = enqueuedBy(
    watchMapped(informer, (object) => ['x', 'y'].map((name) => ({ namespace: object.metadata.name, name }))),
  )
  informer.put(node('n'))
  expect(enqueued()).toEqual(['n/x', 'n/y'])
})

it('A change passes only when every predicate lets it', () => {
  const informer = testingInformer('widgets')
  const enqueued = enqueuedBy(watchFor(informer, generationChanged, labelled({ ours: 'yes' })))
  const labels = { ours: 'yes' }
  informer.put(widget('theirs', { generation: 1 }))
  informer.put(widget('a', { generation: 1, labels }))
  expect(enqueued()).toEqual(['shop/a'])
  informer.put(widget('a', { generation: 1, labels }))
  informer.put(widget('theirs', { generation: 2 }))
  expect(enqueued()).toEqual([])
  informer.put(widget('a', { generation: 2, labels }))
  informer.delete(widget('a', { generation: 2, labels }))
  informer.delete(widget('theirs'))
  expect([...new Set(enqueued())]).toEqual(['shop/a'])
})

import { expect, it } from 'vitest'
import {
  annotationsChanged,
  anyOf,
  generationChanged,
  labelled,
  labelsChanged,
  not,
  passesAdded,
  passesDeleted,
  passesUpdated,
  resourceVersionChanged,
} from './predicates.ts'
import { configMap, widget } from '../testing-objects.ts'

it('A change of status, which leaves the generation as it was, does not pass generationChanged; one of the specification does', () => {
  const before = widget('a', { generation: 3, resourceVersion: '10' })
  expect(passesUpdated(generationChanged, before, widget('a', { generation: 3, resourceVersion: '11' }))).toBe(false)
  expect(passesUpdated(generationChanged, before, widget('a', { generation: 4, resourceVersion: '11' }))).toBe(true)
})

it('A request to delete passes generationChanged, whatever the generation', () => {
  const before = widget('a', { generation: 3, finalizers: ['example.org/x'] })
  expect(
    passesUpdated(generationChanged, before, widget('a', { generation: 3, deletionTimestamp: '2026-01-01T00:00:00Z' })),
  ).toBe(true)
})

it('Every change of a kind without generations passes generationChanged, a resync does not', () => {
  const before = configMap('a', { resourceVersion: '10' })
  expect(passesUpdated(generationChanged, before, configMap('a', { resourceVersion: '11' }))).toBe(true)
  expect(passesUpdated(generationChanged, before, before)).toBe(false)
})

it('Creation and deletion pass whatever is only about updates', () => {
  for (const predicate of [generationChanged, resourceVersionChanged, labelsChanged, annotationsChanged]) {
    expect([passesAdded(predicate, widget('a')), passesDeleted(predicate, widget('a'))]).toEqual([true, true])
  }
})

it('A resync does not pass resourceVersionChanged', () => {
  const one = widget('a', { resourceVersion: '10' })
  expect(passesUpdated(resourceVersionChanged, one, one)).toBe(false)
  expect(passesUpdated(resourceVersionChanged, one, widget('a', { resourceVersion: '11' }))).toBe(true)
})

it('Labels and annotations that came, went or changed pass, the same in another order do not', () => {
  const sets = [{}, { a: '1' }, { a: '2' }, { a: '1', b: '1' }, { b: '1' }]
  for (const before of sets) {
    for (const after of sets) {
      const differ = before !== after
      expect(passesUpdated(labelsChanged, widget('a', { labels: before }), widget('a', { labels: after }))).toBe(differ)
      expect(
        passesUpdated(annotationsChanged, widget('a', { annotations: before }), widget('a', { annotations: after })),
      ).toBe(differ)
    }
  }
  expect(
    passesUpdated(
      labelsChanged,
      widget('a', { labels: { a: '1', b: '1' } }),
      widget('a', { labels: { b: '1', a: '1' } }),
    ),
  ).toBe(false)
  expect(passesUpdated(labelsChanged, widget('a'), widget('a', { labels: {} }))).toBe(false)
})

it('An update by which an object loses the label asked for passes once more, so that its controller hears of it', () => {
  const ours = labelled({ role: 'db' })
  const labelledOne = widget('a', { labels: { role: 'db', other: 'x' } })
  expect([passesAdded(ours, labelledOne), passesAdded(ours, widget('a')), passesDeleted(ours, widget('a'))]).toEqual([
    true,
    false,
    false,
  ])
  expect(passesUpdated(ours, labelledOne, widget('a'))).toBe(true)
  expect(passesUpdated(ours, widget('a'), widget('a'))).toBe(false)
})

it('anyOf lets pass what one of its predicates does, not lets pass what its predicate does not', () => {
  const before = widget('a', { generation: 1 })
  const relabelled = widget('a', { generation: 1, labels: { a: '1' } })
  const either = anyOf(generationChanged, labelsChanged)
  expect(passesUpdated(either, before, relabelled)).toBe(true)
  expect(passesUpdated(either, before, widget('a', { generation: 2 }))).toBe(true)
  expect(passesUpdated(either, before, before)).toBe(false)
  expect(passesUpdated(not(labelsChanged), before, relabelled)).toBe(false)
  const unlabelled = not(labelled({ a: '1' }))
  expect([
    passesAdded(unlabelled, before),
    passesAdded(unlabelled, relabelled),
    passesDeleted(unlabelled, before),
    passesDeleted(unlabelled, relabelled),
  ]).toEqual([true, false, true, false])
})

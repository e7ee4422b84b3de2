import { expect, it } from 'vitest'
import {
  controllerKey,
  controllerOf,
  isControlledBy,
  withController,
  withoutOwner,
  withOwner,
} from './owner-references.ts'
import { configMap, node, nodes, widget, widgets } from '../testing-objects.ts'

it('An object is given its controller once: a second time nothing changes', () => {
  const once = withController(configMap('c'), widget('a'))
  expect(once.metadata.ownerReferences).toEqual([
    {
      apiVersion: 'example.org/v1',
      kind: 'Widget',
      name: 'a',
      uid: 'uid-a',
      controller: true,
      blockOwnerDeletion: true,
    },
  ])
  expect(withController(once, widget('a'))).toBe(once)
  expect(isControlledBy(once, widget('a'))).toBe(true)
})

it('An object that another controls is refused, also where that was an owner of the same name that is gone', () => {
  const taken = withController(configMap('c'), widget('a'))
  expect(() => withController(taken, widget('b'))).toThrow(
    'ConfigMap shop/c is controlled by Widget a (uid uid-a) and cannot be by Widget shop/b (uid uid-b) too',
  )
  expect(() => withController(taken, widget('a', { uid: 'another' }))).toThrow('controlled by Widget a')
  expect(isControlledBy(taken, widget('a', { uid: 'another' }))).toBe(false)
})

it('An owner beside the controller leaves the controller what it is, and a controller named as an owner again stays one', () => {
  const both = withOwner(withController(configMap('c'), widget('a')), widget('b'))
  expect(both.metadata.ownerReferences?.map((each) => [each.name, each.controller])).toEqual([
    ['a', true],
    ['b', undefined],
  ])
  expect(withOwner(both, widget('a'))).toBe(both)
  expect(withOwner(both, widget('b'))).toBe(both)
})

it('An owner becomes the controller in its place, and a newer version of its API replaces the older', () => {
  const owned = withOwner(withOwner(configMap('c'), widget('a')), widget('b'))
  const controlled = withController(owned, { ...widget('a'), apiVersion: 'example.org/v2' })
  expect(controlled.metadata.ownerReferences?.map((each) => [each.apiVersion, each.name, each.controller])).toEqual([
    ['example.org/v2', 'a', true],
    ['example.org/v1', 'b', undefined],
  ])
})

it('Taking an owner away leaves the others, and changes nothing where it was none', () => {
  const both = withOwner(withController(configMap('c'), widget('a')), widget('b'))
  const one = withoutOwner(both, widget('a'))
  expect(one.metadata.ownerReferences?.map((each) => each.name)).toEqual(['b'])
  expect(withoutOwner(one, widget('a'))).toBe(one)
  expect(controllerOf(one)).toBeUndefined()
})

it('An owner in a namespace owns nothing outside it; one of the whole cluster owns anything; one without a uid owns nothing', () => {
  expect(() => withOwner(configMap('c', { namespace: 'other' }), widget('a'))).toThrow(
    'Widget shop/a can own nothing outside its namespace, but ConfigMap other/c is',
  )
  expect(() => withController(node('n'), widget('a'))).toThrow('can own nothing outside its namespace')
  expect(controllerOf(withController(configMap('c'), node('n')))?.name).toBe('n')
  const { uid: _uid, ...unborn } = widget('a').metadata
  expect(() => withOwner(configMap('c'), { ...widget('a'), metadata: unborn })).toThrow('Widget shop/a has no uid yet')
})

it('The key of a controller is found by group and kind, whatever the version, and is in the object’s namespace unless its kind has none', () => {
  const byVersion2 = withController(configMap('c'), { ...widget('a'), apiVersion: 'example.org/v2' })
  expect(controllerKey(byVersion2, widgets)).toEqual({ namespace: 'shop', name: 'a' })
  expect(controllerKey(byVersion2, nodes)).toBeUndefined()
  expect(controllerKey(byVersion2, { ...widgets, group: 'other.org' })).toBeUndefined()
  expect(controllerKey(withController(configMap('c'), node('n')), nodes)).toEqual({ namespace: '', name: 'n' })
  expect(controllerKey(withOwner(configMap('c'), widget('a')), widgets)).toBeUndefined()
})

import { expect, it } from 'vitest'
import {
  addFinalizer,
  hasFinalizer,
  isDeleting,
  removeFinalizer,
  withFinalizer,
  withoutFinalizer,
} from './finalizers.ts'
import { keyOf } from '../objects/objects.ts'
import { ScriptedClient } from '../testing-kube-client.ts'
import { widget, widgets } from '../testing-objects.ts'
import { virtualWorld } from '#common/ports/testing-world.ts'

const ours = 'example.org/clean-up'

it('A finalizer is put on once and taken off once; a second time nothing changes, and others stay', () => {
  const bare = widget('a', { finalizers: ['other.org/x'] })
  const held = withFinalizer(bare, ours)
  expect(held.metadata.finalizers).toEqual(['other.org/x', ours])
  expect(withFinalizer(held, ours)).toBe(held)
  const freed = withoutFinalizer(held, ours)
  expect(freed.metadata.finalizers).toEqual(['other.org/x'])
  expect(withoutFinalizer(freed, ours)).toBe(freed)
  expect([hasFinalizer(held, ours), hasFinalizer(freed, ours), hasFinalizer(widget('a'), ours)]).toEqual([
    true,
    false,
    false,
  ])
})

it('An object that is being deleted is given no finalizer, and keeps or loses the one it has', () => {
  const deleting = widget('a', { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: [ours] })
  expect([isDeleting(deleting), isDeleting(widget('a'))]).toEqual([true, false])
  expect(withFinalizer(deleting, ours)).toBe(deleting)
  expect(() => withFinalizer(deleting, 'example.org/late')).toThrow(
    'Widget shop/a is being deleted and can no longer be given the finalizer example.org/late',
  )
  expect(withoutFinalizer(deleting, ours).metadata.finalizers).toEqual([])
})

it('An object with a finalizer outlives its deletion until the finalizer is taken away, and to take it away again is no failure', async () => {
  const client = new ScriptedClient()
  const parts = { client, world: virtualWorld() }
  const target = { resource: widgets, key: keyOf(widget('a')) }
  await client.create(widgets, widget('a'))
  expect(await addFinalizer(parts, target, ours)).toMatchObject({ metadata: { finalizers: [ours] } })
  await addFinalizer(parts, target, ours)
  expect(client.calls.filter((call) => call === 'update')).toHaveLength(1)
  await client.delete(widgets, target.key)
  expect(isDeleting((await client.get(widgets, target.key))!)).toBe(true)
  await removeFinalizer(parts, target, ours)
  expect(await client.get(widgets, target.key)).toBeUndefined()
  expect(await removeFinalizer(parts, target, ours)).toBeUndefined()
})

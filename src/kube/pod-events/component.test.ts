import { describe, expect, it } from 'vitest'
import { isLabelValue, isMember, isObjectName, ownerPlaceOf, selectorOf } from './component.ts'
import { aMember, anOwner } from './testing-component.ts'

const ownedBy = (apiVersion: string, kind: string) =>
  aMember(0, { metadata: { ownerReferences: [{ apiVersion, kind, name: 'db', uid: 'set-1', controller: true }] } })
const labelled = aMember(0, { metadata: { ownerReferences: [], labels: { 'workloads.kubeblocks.io/instance': 'db' } } })

describe('The owner of a pod', () => {
  it.each([
    ['apps/v1', 'StatefulSet', 'apps/v1 statefulsets shops/db'],
    ['workloads.kubeblocks.io/v1', 'InstanceSet', 'workloads.kubeblocks.io/v1 instancesets shops/db'],
    ['workloads.kubeblocks.io/v1alpha1', 'InstanceSet', 'workloads.kubeblocks.io/v1alpha1 instancesets shops/db'],
    ['workloads.kubeblocks.io/v1', 'Instance', 'workloads.kubeblocks.io/v1 instances shops/db'],
    ['apps/v1', 'ReplicaSet', undefined],
    ['apps.kruise.io/v1', 'StatefulSet', undefined],
    ['v1', 'Node', undefined],
    ['apps/v1%2Fnamespaces%2Fvictim%2Fstatefulsets%2Fdb?x=', 'StatefulSet', undefined],
    ['apps/v1/namespaces/victim/statefulsets/db?x=', 'StatefulSet', undefined],
    ['apps/..', 'StatefulSet', undefined],
    ['apps/v1', '__proto__', undefined],
  ])('that is a %s %s is at %s', (apiVersion, kind, where) => {
    const place = ownerPlaceOf(ownedBy(apiVersion, kind))
    const { group, version, plural } = place?.resource ?? {}
    const text = place && `${group ?? ''}/${version ?? ''} ${plural ?? ''} ${place.key.namespace}/${place.key.name}`
    expect([text, place?.uid]).toEqual([where, where && 'set-1'])
  })

  it('is the InstanceSet that a label names, where it has no controller', () => {
    expect(ownerPlaceOf(labelled)).toMatchObject({
      resource: { kind: 'InstanceSet' },
      key: { namespace: 'shops', name: 'db' },
      uid: undefined,
    })
    expect(ownerPlaceOf(aMember(0, { metadata: { ownerReferences: [] } }))).toBeUndefined()
  })
})

it('A peer is a pod of the same owner, whatever labels it copied', () => {
  const owner = anOwner()
  const [reference] = aMember(0).metadata.ownerReferences ?? []
  const copied = aMember(1, {
    metadata: { ownerReferences: reference ? [{ ...reference, uid: 'set-2' }] : [], labels: { app: 'db' } },
  })
  expect([isMember(aMember(0), owner), isMember(copied, owner), isMember(labelled, owner)]).toEqual([true, false, true])
})

it('Pods are listed by the labels of the owner’s selector, and not at all without any', () => {
  expect(selectorOf(anOwner({}, { selector: { matchLabels: { app: 'db', tier: 'data' } } }))).toBe('app=db,tier=data')
  expect(selectorOf(anOwner({}, { selector: {} }))).toBeUndefined()
})

it.each([
  ['primary', true],
  ['a', true],
  ['A-b_c.1', true],
  ['x'.repeat(63), true],
  ['x'.repeat(64), false],
  ['', false],
  ['-a', false],
  ['a-', false],
  ['a b', false],
])('"%s" is the value of a label: %s', (text, is) => {
  expect(isLabelValue(text)).toBe(is)
})

it.each([
  ['shop-db-0', true],
  ['a.b', true],
  ['x'.repeat(254), false],
  ['', false],
  ['..', false],
  ['../secrets/x', false],
  ['Shop', false],
])('"%s" is the name of an object: %s', (text, is) => {
  expect(isObjectName(text)).toBe(is)
})

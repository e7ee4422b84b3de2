import { expect, it } from 'vitest'
import { managerWordOf } from './manager-word.ts'

const event = { name: 'shop', epoch: 3, primary: 'shop-1', instances: [{ name: 'shop-1', host: '10.0.0.2', lag: 1 }] }

it('An event of a manager is taken, also with fields that a router does not know', () => {
  expect(managerWordOf(JSON.stringify({ ...event, news: 'x' }), 'shop')).toMatchObject(event)
  expect(
    managerWordOf(JSON.stringify({ ...event, primary: null, epoch: 0, instances: [] }), 'shop')?.primary,
  ).toBeNull()
})

it.each<[string, object]>([
  ['an epoch that is a text', { epoch: '3' }],
  ['no epoch', { epoch: undefined }],
  ['an epoch that is null, as NaN is sent', { epoch: NaN }],
  ['half an epoch', { epoch: 2.5 }],
  ['an epoch below any', { epoch: -1 }],
  ['an epoch beyond what is counted', { epoch: 1e300 }],
  ['no instances', { instances: undefined }],
  ['instances that are no list', { instances: { name: 'shop-1', host: '' } }],
  ['an instance without a name', { instances: [{ host: '' }] }],
  ['a host with a command behind', { instances: [{ name: 'shop-1', host: '10.0.0.1; show info' }] }],
  ['a primary that is no name', { primary: 7 }],
  ['no primary', { primary: undefined }],
  ['another cluster', { name: 'shop2' }],
])('An event with %s is no word of the manager', (_, change) => {
  expect(managerWordOf(JSON.stringify({ ...event, ...change }), 'shop')).toBeNull()
})

it.each(['', 'null', '[]', '7', '{', '{"epoch":', '"shop"'])('"%s" is no word of the manager', (text) => {
  expect(managerWordOf(text, 'shop')).toBeNull()
})

import { expect, it } from 'vitest'
import { aCluster } from '../testing.ts'
import { readSettingsOf } from './read-settings.ts'

it.each([
  ['nothing is said', {}, { maxLagMs: 5_000, fallback: 'primary' }],
  ['the router says so', { router: { reads: { maxLagMs: 900 } } }, { maxLagMs: 900, fallback: 'primary' }],
  [
    'the Service says so, whatever the router does',
    { router: { reads: { maxLagMs: 900 } }, services: { replicas: { reads: { maxLagMs: 80, fallback: 'none' } } } },
    { maxLagMs: 80, fallback: 'none' },
  ],
])('Reads without a router are limited as with one: %s', (_, spec, wanted) => {
  expect(readSettingsOf(aCluster(spec).spec)).toEqual(wanted)
})

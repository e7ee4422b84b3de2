import { expect, it } from 'vitest'
import type { Observation } from '#topology/snapshot/observation.ts'
import { anObservation } from '#topology/testing.ts'
import { wordOf } from './agent-word.ts'

const seen = anObservation({ server: {} })

/** As it comes over the wire, with another value at a path; undefined for none. */
function changed(path: string, value: unknown): Observation {
  const copy = JSON.parse(JSON.stringify(seen)) as Record<string, unknown>
  const steps = path.split('.')
  const holder = steps.slice(0, -1).reduce((at, step) => at[step] as Record<string, unknown>, copy)
  holder[steps.at(-1) ?? ''] = value
  return JSON.parse(JSON.stringify(copy)) as Observation
}

it('What an agent sends is understood, also without a server and without an assignment', () => {
  expect(wordOf(changed('sequence', 7))).not.toBeNull()
  expect(wordOf(changed('server', null))).toMatchObject({ readOnly: true, offline: true })
  expect(wordOf(changed('stored.assignment', null))).toMatchObject({ epoch: 0, role: null })
})

it.each([
  ...['stored', 'stored.promise', 'stored.seeding', 'stored.assignment', 'stored.filterSeen', 'process', 'silentMs'],
  ...['stored.assignment.epoch', 'stored.assignment.role', 'stored.assignment.fenced'],
  ...['server', 'server.uuid', 'server.readOnly', 'server.superReadOnly', 'server.offlineMode', 'server.channel'],
])('An observation without %s is no word: nobody knows whether what is missing was a no', (path) => {
  expect(wordOf(changed(path, undefined))).toBeNull()
})

it.each<[string, unknown]>([
  ['stored.promise', '3'],
  ['stored.promise', 2.5],
  ['stored.promise', -1],
  ['stored.promise', 1e300],
  ['stored.assignment.epoch', null],
  ['stored.assignment.role', 'leader'],
  ['stored.assignment.fenced', 0],
  ['server.superReadOnly', 'OFF'],
  ['silentMs', null],
  ['heartbeat', { atMs: 'now' }],
])('An observation whose %s is %j is no word', (path, value) => {
  expect(wordOf(changed(path, value))).toBeNull()
})

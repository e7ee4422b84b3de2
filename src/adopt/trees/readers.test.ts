import { expect, test } from 'vitest'
import type { Step } from '#orchestrator/trees/step.ts'
import { whyRead } from './readers.ts'

const reset: readonly Step[] = [
  { do: 'stop', at: 'shop-2' },
  { do: 'resetGtids', at: 'shop-2', without: 'a:1' },
]
const listed = { host: 'cdc', port: 0, uuid: 'b', serverId: 77 }

test('Binlogs that somebody reads are not emptied, also where Regent does not watch who that is', () => {
  const why = 'gtid-errant-reset-master will not operate on shop-2 because it has 1 replicas. Expecting no replicas'
  expect(String(whyRead('shop-2', reset, { listed: [], dumpHosts: ['10.0.0.9'] }))).toBe(why)
  expect(String(whyRead('shop-2', reset, { listed: [listed], dumpHosts: [] }))).toBe(why)
  expect(whyRead('shop-2', reset, { listed: [], dumpHosts: [] })).toBeUndefined()
})

test('Whoever reads hinders nothing else', () => {
  expect(whyRead('shop-2', reset.slice(0, 1), { listed: [listed], dumpHosts: ['10.0.0.9'] })).toBeUndefined()
  expect(whyRead('shop-1', reset, { listed: [listed], dumpHosts: ['10.0.0.9'] })).toBeUndefined()
})

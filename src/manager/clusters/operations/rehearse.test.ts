import { expect, it } from 'vitest'
import { aBackup, aSpec } from '#failover/testing.ts'
import { operationsOn } from './testing-operations.ts'

const spec = aSpec({ backup: aBackup() })
const asked = { instance: undefined, dryRun: false }

it('A rehearsal is begun by the agent of a replica, whom the answer names', async () => {
  const { operations, posted } = operationsOn({ spec })
  const result = await operations.perform('rehearse', asked)
  expect(result).toMatchObject({ done: true, instance: 'shop-2', rehearsal: '19700101T001640Z' })
  expect(posted.map(({ path, body }) => [path, body])).toEqual([
    ['/v1/rehearse', expect.objectContaining({ cluster: 'shop', name: '19700101T001640Z' })],
  ])
})

it('A dry run of a rehearsal tells nobody', async () => {
  const { operations, posted } = operationsOn({ spec })
  const { sentence } = await operations.perform('rehearse', { instance: 'shop-0', dryRun: true })
  expect(sentence).toBe('would restore the newest backup beside shop-0, and remove that again; it is the primary')
  expect(posted).toEqual([])
})

it('A cluster whose spec names no store, or that rehearses already, rehearses nothing', async () => {
  await expect(operationsOn({}).operations.perform('rehearse', asked)).rejects.toThrow('its spec names no store')
  const rehearsal = { name: 'first', stage: 'checks', sentence: '' } as const
  const { operations } = operationsOn({ spec, views: { 'shop-1': { rehearsal } } })
  await expect(operations.perform('rehearse', asked)).rejects.toThrow('shop-1 has rehearsal first under way')
})

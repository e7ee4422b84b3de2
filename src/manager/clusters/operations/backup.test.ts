import { expect, it } from 'vitest'
import { aBackup, aSpec } from '#failover/testing.ts'
import { operationsOn } from './testing-operations.ts'

const spec = aSpec({ backup: aBackup() })
const asked = { instance: undefined, dryRun: false }

it('A backup is begun by the agent of a replica, whom the answer names', async () => {
  const { operations, posted } = operationsOn({ spec })
  const result = await operations.perform('backup', asked)
  expect(result).toMatchObject({ done: true, instance: 'shop-2', backup: '19700101T001640Z' })
  expect(result.sentence).toContain('shop-2 makes backup 19700101T001640Z')
  expect(posted.map(({ path, body }) => [path, body])).toEqual([
    [
      '/v1/back-up',
      expect.objectContaining({ cluster: 'shop', name: '19700101T001640Z', store: { address: '/backups' } }),
    ],
  ])
})

it('A dry run tells nobody', async () => {
  const { operations, posted } = operationsOn({ spec })
  const { sentence } = await operations.perform('backup', { ...asked, dryRun: true })
  expect([sentence, posted]).toEqual(['would copy shop-2 into /backups', []])
})

it('A person who asks for the primary is told that it is one', async () => {
  const { sentence } = await operationsOn({ spec }).operations.perform('backup', { instance: 'shop-0', dryRun: true })
  expect(sentence).toBe('would copy shop-0 into /backups; it is the primary')
})

it('A cluster whose spec names no store is told where to name one', async () => {
  await expect(operationsOn({}).operations.perform('backup', asked)).rejects.toThrow('its spec names no store')
})

it('Of two backups at once the second is refused', async () => {
  const backup = { name: 'first', stage: 'sends', rawBytes: 1, storedBytes: 1, sentence: '' } as const
  const { operations } = operationsOn({ spec, views: { 'shop-1': { backup } } })
  await expect(operations.perform('backup', asked)).rejects.toThrow('no backup of shop: shop-1 makes backup first')
})

it('Who names a backup may ask twice: it is begun once', async () => {
  const name = '20261126T031209Z'
  const { operations, posted } = operationsOn({ spec })
  expect(await operations.perform('backup', { ...asked, name })).toMatchObject({ done: true, backup: name })
  expect(posted[0]?.body).toMatchObject({ name })
  const backup = { name, stage: 'sends', rawBytes: 1, storedBytes: 1, sentence: '' } as const
  const again = operationsOn({ spec, views: { 'shop-2': { backup } } })
  expect(await again.operations.perform('backup', { ...asked, name })).toMatchObject({ done: false })
  expect(again.posted).toEqual([])
  await expect(operations.perform('backup', { ...asked, name: '20261340T031209Z' })).rejects.toThrow('is no time such')
})

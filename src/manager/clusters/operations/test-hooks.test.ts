import { expect, it } from 'vitest'
import { aSpec } from '#failover/testing.ts'
import { operationsOn } from './testing-operations.ts'

const spec = aSpec({
  hooks: {
    beforeFailover: [{ command: ['vip'] }],
    powerOff: [{ command: ['ipmi'] }],
    afterFailover: [{ command: ['dns'] }],
  },
})

it('Hooks are tried with an example that is marked as a test, those of one moment or all', async () => {
  const { operations, tried } = operationsOn({ spec })
  expect(await operations.perform('test-hooks', { moment: undefined, dryRun: false })).toMatchObject({
    sentence: '2 of 2 hooks succeeded',
    plan: ['beforeFailover.0 vip: succeeded: exit 0', 'afterFailover.0 dns: succeeded: exit 0'],
  })
  await operations.perform('test-hooks', { moment: 'afterFailover', dryRun: false })
  expect(tried.map(({ moment, test }) => [moment, test])).toEqual([
    ['beforeFailover', true],
    ['afterFailover', true],
    ['afterFailover', true],
  ])
  expect(tried.at(-1)).toMatchObject({ failed: { instance: 'shop-0' }, successor: { instance: 'shop-1' } })
  expect(new Set(tried.map(({ key }) => key)).size).toBe(3)
})

it('A dry run of that runs none', async () => {
  const { operations, tried } = operationsOn({ spec })
  const { sentence, plan } = await operations.perform('test-hooks', { moment: undefined, dryRun: true })
  expect(sentence).toBe('would run 2 hooks with an example, marked as a test')
  expect(plan).toEqual(['beforeFailover.0 vip', 'afterFailover.0 dns'])
  expect(tried).toEqual([])
})

it('A cluster without hooks of that moment has nothing to try', async () => {
  const asked = { moment: 'failed', dryRun: false } as const
  await expect(operationsOn({ spec }).operations.perform('test-hooks', asked)).rejects.toThrow(
    'no test: the spec of shop has nothing in hooks.failed',
  )
})

it('A hook that switches a host off is tried only where that moment is asked for', async () => {
  const { operations } = operationsOn({ spec })
  const { plan } = await operations.perform('test-hooks', { moment: 'powerOff', dryRun: true })
  expect(plan).toEqual(['powerOff.0 ipmi'])
})

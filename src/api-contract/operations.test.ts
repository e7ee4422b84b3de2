import { describe, expect, it } from 'vitest'
import { completed, operationNames, operations } from './operations.ts'

describe.each(operationNames)('the operation %s', (name) => {
  const { body, dangers } = operations[name]

  it('takes a dry run, and is dangerous only for who says so', () => {
    expect(Object.keys(body.properties)).toEqual(expect.arrayContaining(['dryRun', ...dangers]))
    for (const flag of ['dryRun', ...dangers]) {
      expect(body.required ?? []).not.toContain(flag)
      expect(completed(name, {})).toMatchObject({ [flag]: false })
    }
  })

  it('names every flag but a dry run among its dangers', () => {
    const flags = Object.entries<object>(body.properties).filter(([, of]) => 'type' in of && of.type === 'boolean')
    expect(flags.map(([key]) => key)).toEqual([...dangers, 'dryRun'])
  })
})

describe('A body', () => {
  it('keeps what is said, and gets the defaults of what is not', () => {
    expect(completed('failover', { to: 'shop-1', dryRun: true })).toEqual({
      to: 'shop-1',
      acceptLoss: false,
      dryRun: true,
    })
    expect(completed('downtime', { instance: 'shop-1', forMs: 1_000, reason: 'why' })).toMatchObject({ owner: '' })
  })
})

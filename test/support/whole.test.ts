import { describe, expect, it } from 'vitest'
import type { ClusterView, InstanceRow } from '#api-contract/views.ts'
import { isWhole, whyNotWhole } from './whole.ts'

const row = (name: string, more: Partial<InstanceRow> = {}): InstanceRow => ({
  name,
  host: '127.24.1.1',
  port: 3306,
  role: 'replica',
  process: 'running',
  reachable: true,
  inSyncSet: true,
  acknowledging: true,
  lagSeconds: null,
  behind: false,
  backlog: 0,
  readOnly: true,
  offline: false,
  fenced: false,
  version: null,
  executed: null,
  problems: [],
  ...more,
})

const whole: ClusterView = {
  name: 'shop',
  mode: 'semisync',
  durability: 'strict',
  epoch: 1,
  revision: 3,
  primary: 'shop-0',
  writable: true,
  whole: true,
  problems: [],
  syncSet: ['shop-1', 'shop-2'],
  acks: 1,
  acksWanted: 1,
  condition: 'primaryWell',
  sentence: '',
  news: '',
  blocked: false,
  paused: false,
  instances: [row('shop-0', { role: 'primary', readOnly: false }), row('shop-1'), row('shop-2')],
}

describe('a whole cluster', () => {
  it('has every instance up, every replica counted, and a primary that takes writes', () => {
    expect(isWhole(whole, 3)).toBe(true)
    expect(isWhole(whole, 5)).toBe(false)
  })

  it.each([
    [{ ...whole, writable: false }, 'no instance takes writes'],
    [{ ...whole, syncSet: ['shop-1'] }, 'the sync set has 1 of 2'],
    [{ ...whole, acksWanted: 2 }, '1 of 2 acknowledgements'],
    [
      { ...whole, instances: [row('shop-0'), row('shop-1'), row('shop-2', { acknowledging: false })] },
      'shop-2 does not acknowledge yet',
    ],
    [
      { ...whole, instances: [row('shop-0'), row('shop-1', { reachable: false }), row('shop-2')] },
      'shop-1 is not there yet',
    ],
    [
      { ...whole, instances: [row('shop-0'), row('shop-1'), row('shop-2', { process: 'dead' })] },
      'shop-2 is not there yet',
    ],
    [
      { ...whole, instances: [row('shop-0'), row('shop-1'), row('shop-2', { offline: true })] },
      'shop-2 is not there yet',
    ],
    [
      {
        ...whole,
        instances: [
          row('shop-0'),
          row('shop-1'),
          row('shop-2', { problems: [{ code: 'Converging', sentence: 'connecting to shop-0' }] }),
        ],
      },
      'shop-2 does not follow',
    ],
  ])('is not one of which something is missing: %#', (view, why) => {
    expect(whyNotWhole(view)).toBe(why)
  })
})

import { Value } from 'typebox/value'
import { describe, expect, it } from 'vitest'
import { clusterSpecSchema } from '#failover/protocol/spec.ts'
import { coreSpecOf } from './core-spec.ts'
import { specOf } from '../testing.ts'

const shop = { namespace: 'shops', name: 'shop' }

describe('what the core knows of a resource', () => {
  it('is its own default where nothing is said', () => {
    expect(coreSpecOf(shop, specOf())).toEqual(Value.Default(clusterSpecSchema, { version: 1 }))
  })

  it('is what the resource says, durations in milliseconds', () => {
    const said = {
      instances: 5,
      acks: 2,
      durability: 'available',
      failover: { automatic: false, windowSeconds: 5 },
      switchover: { graceMs: 10, timeoutMs: 500 },
      reseed: 'manual',
    }
    expect(coreSpecOf(shop, specOf(said))).toMatchObject({ ...said, failover: { automatic: false, windowMs: 5_000 } })
  })

  it('takes over a budget of automatic failovers with its defaults', () => {
    expect(coreSpecOf(shop, specOf({ failover: { budget: { failovers: 5 } } })).failover).toEqual({
      automatic: true,
      budget: { failovers: 5, windowMs: 300_000 },
    })
  })

  it('names whom to prefer and whom never to choose', () => {
    expect(coreSpecOf(shop, specOf({ primary: { preferred: { 'shop-1': 7 }, never: ['shop-2'] } })).policies).toEqual({
      'shop-1': { promotion: 'neutral', priority: 7 },
      'shop-2': { promotion: 'never', priority: 0 },
    })
  })

  it('prefers the highest ordinal where that is asked for', () => {
    const { policies } = coreSpecOf(shop, specOf({ primary: { lastOrdinal: true } }))
    expect(Object.values(policies).map(({ priority }) => priority)).toEqual([0, 1, 2])
  })

  it('refuses an instance that cannot be one of the cluster', () => {
    for (const name of ['Shop_1', 'mall-0', 'shop-16']) {
      expect(() => coreSpecOf(shop, specOf({ primary: { never: [name] } }))).toThrow(
        `spec of shop: primary names "${name}"; allowed are the instances shop-0 to shop-15`,
      )
    }
  })

  it('has the hooks of the resource, and refuses what is wrong with them', () => {
    const webhook = { url: 'https://example.com', secretRef: { name: 'hook' } }
    expect(coreSpecOf(shop, specOf({ hooks: { failed: [{ webhook }] } })).hooks).toEqual({ failed: [{ webhook }] })
    const both = { hooks: { failed: [{ webhook, shell: 'a' }] } }
    expect(() => coreSpecOf(shop, specOf(both))).toThrow(
      'spec of shop: hooks.failed.0 has 2 of command, shell and webhook',
    )
    const stops = { mode: 'group', hooks: { beforeFailover: [{ shell: 'a', onFailure: 'stop' }] } }
    expect(() => coreSpecOf(shop, specOf(stops))).toThrow('hooks.beforeFailover.0.onFailure is "stop" in mode group')
  })
})

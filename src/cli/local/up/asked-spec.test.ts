import { describe, expect, test } from 'vitest'
import type { ClusterSpec } from '#failover/protocol/spec.ts'
import { composeSpec, writeSpec } from '#local/folder/spec-file.ts'
import { layoutOf } from '#local/folder/state-layout.ts'
import { clusterIn, fileWith, temporaryFolder } from '#local/testing.ts'
import { askedSpec, changedKeys } from './asked-spec.ts'

/** What `regent adopt manage` makes of a hosts file. */
const adopted = {
  mode: 'async',
  instances: 3,
  reseed: 'manual',
  policies: { 'shop-2': { promotion: 'never', priority: 0 } },
  failover: {
    automatic: true,
    acceptLoss: 'upTo',
    acceptLossUpTo: { seconds: 5, transactions: 9 },
    windowMs: 28_800_000,
  },
  keepBinlogsSeconds: 31_536_000,
  hooks: { detected: [{ shell: 'true' }], failed: [{ shell: 'false' }] },
} as const

async function cluster(stored: object, far: boolean) {
  const dir = await temporaryFolder()
  const before = await composeSpec('shop', undefined, stored)
  await writeSpec(layoutOf(dir), before)
  const found = { dir, cluster: clusterIn(dir, far ? { far: true } : {}) }
  return {
    before,
    asked: async (text: string | undefined, options = {}): Promise<ClusterSpec> =>
      askedSpec(found, { ...(text !== undefined && { config: await fileWith(text) }), ...options }),
  }
}

describe('The spec that is asked of a cluster that exists', () => {
  test('is for adopted servers what they have, with what a file says laid over that', async () => {
    const { before, asked } = await cluster(adopted, true)
    const hooks = { afterFailover: [{ shell: 'move' }] }
    const all = await asked(JSON.stringify({ hooks }))
    expect(all).toEqual({ ...before, hooks: { ...adopted.hooks, ...hooks } })
    expect(changedKeys(before, all)).toEqual(['hooks'])
  })

  test('of adopted servers changes key by key, and lists as a whole', async () => {
    const { before, asked } = await cluster(adopted, true)
    const text =
      '{ failover: { automatic: false }, policies: { shop-1: { promotion: prefer } }, hooks: { failed: [] } }'
    expect(await asked(text)).toEqual({
      ...before,
      failover: { ...before.failover, automatic: false },
      policies: { 'shop-1': { promotion: 'prefer', priority: 0 }, ...before.policies },
      hooks: { ...adopted.hooks, failed: [] },
    })
  })

  test('of servers that Regent made is the file, and how they replicate and how many they are stays', async () => {
    const { before, asked } = await cluster({ instances: 5, reseed: 'manual', acks: 1 }, false)
    const next = await asked('hooks: { failed: [{ shell: "true" }] }')
    expect(next).toMatchObject({ instances: 5, reseed: 'automatic', acks: null })
    expect(changedKeys(before, next)).toEqual(['acks', 'hooks', 'reseed'])
    expect(await asked('reseed: manual', { acks: 1 })).toEqual(before)
  })

  test('without a file is what the cluster has, with options over that', async () => {
    for (const far of [true, false]) {
      const { before, asked } = await cluster(adopted, far)
      expect(await asked(undefined)).toEqual(before)
      expect(await asked(undefined, { durability: 'available' })).toEqual({ ...before, durability: 'available' })
    }
  })
})

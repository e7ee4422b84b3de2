import { describe, expect, it } from 'vitest'
import { counted, say, type Sentence } from '#common/sentence/sentence.ts'
import { commonLabels } from '#kube/names/names.ts'
import { aCluster, aStatefulSet } from '#kube/testing.ts'
import { reconcileStatus, statusWriter, type ReconcileStatusParts } from './reconcile-status.ts'
import { statusOf } from './status/status.ts'
import { aView } from './testing.ts'

const now = 1_790_000_000_000
const shop = { namespace: 'shops', name: 'shop' }

/**
 * A status reconcile of a cluster in the middle of a recovery; `shown` grows when it looks at the cluster to show it.
 */
function during(
  recovery: { readonly startedWallMs: number } | null,
  recoveries: readonly { readonly startedWallMs: number }[] = [],
  isOfIt = true,
) {
  const seen = { shown: 0 }
  const managed = {
    loop: { decision: {}, recovery, notes: { recoveries } },
    view: () => {
      seen.shown++
      throw new Error('shown')
    },
  }
  const parts = {
    clock: { wallMs: () => now, monotonicMs: () => 0 },
    clusters: { get: () => ({ metadata: shop }) },
    statefulSets: { get: () => aStatefulSet(3) },
    set: { get: () => managed, of: () => (isOfIt ? managed : undefined), progress: { of: () => ({ trouble: '' }) } },
    leads: () => true,
  } as unknown as ReconcileStatusParts
  return { seen, reconcile: () => reconcileStatus(parts)(shop, new AbortController().signal) }
}

describe('role labels and status', () => {
  it('stand back for a recovery, and come when it has had its second', async () => {
    const { seen, reconcile } = during({ startedWallMs: now - 200 })
    expect(await reconcile()).toEqual({ requeueAfterMs: 800 })
    expect(seen.shown).toBe(0)
  })

  it('stand back until the second is over also where it has ended: replicas are only just connecting', async () => {
    const { seen, reconcile } = during(null, [{ startedWallMs: now - 300 }, { startedWallMs: now - 90_000 }])
    expect(await reconcile()).toEqual({ requeueAfterMs: 700 })
    expect(seen.shown).toBe(0)
  })

  it.each([
    ['a recovery that takes longer', { startedWallMs: now - 1_000 }],
    ['none', null],
    ['one that began when the clock was wrong', { startedWallMs: now + 60_000 }],
  ])('are shown during %s', async (_, recovery) => {
    const { seen, reconcile } = during(recovery)
    await expect(reconcile()).rejects.toThrow('shown')
    expect(seen.shown).toBe(1)
  })
})

it('A cluster that was made anew gets nothing of the one before: by its epoch it would never get its Secret', async () => {
  const { seen, reconcile } = during(null, [], false)
  await reconcile()
  expect(seen.shown).toBe(0)
})

describe('a status', () => {
  const behind = (name: string, transactions: number): Sentence =>
    say`${name} is ${counted(transactions, 'transaction')} behind`

  /** What is written of a cluster that says one sentence after the other, half a second apart. */
  async function written(...sentences: readonly Sentence[]): Promise<readonly string[]> {
    const said: string[] = []
    let monotonicMs = 0
    let cluster = aCluster({ instances: 3 })
    const client = {
      apply: (_resource: unknown, { status = {} }: typeof cluster) => {
        said.push(String(status.sentence))
        cluster = { ...cluster, status }
        return Promise.resolve(cluster)
      },
    }
    const parts = [client, { monotonicMs: () => monotonicMs, wallMs: () => now }] as unknown
    const writer = statusWriter(...(parts as Parameters<typeof statusWriter>))
    for (const sentence of sentences) {
      const progress = { generation: 1, trouble: '' }
      const view = aView({ sentence: String(sentence) })
      const status = statusOf({ cluster, view, pods: [], update: '', progress, wallMs: now })
      await writer.write(cluster, status, [sentence.news], new AbortController().signal)
      monotonicMs += 500
    }
    return said
  }

  it('is written at once where a sentence is about another instance, and not where its figures moved', async () => {
    expect(await written(behind('shop-1', 3), behind('shop-1', 2), behind('shop-2', 1))).toEqual([
      'shop-1 is 3 transactions behind',
      'shop-2 is 1 transaction behind',
    ])
  })
})

describe('a set that the cache has lost sight of', () => {
  /** What is written to a set with such metadata, whose labels the cache selects by, and what is told of that. */
  async function keptOf(metadata: object, isThere = true) {
    const written: unknown[] = []
    const told: string[] = []
    const set = aStatefulSet(3)
    const parts = {
      client: {
        get: async () => (isThere ? { ...set, metadata: { ...set.metadata, uid: 's1', ...metadata } } : undefined),
        patch: async (_: unknown, { name }: { readonly name: string }, patch: object) =>
          void written.push({ name, ...patch }),
      },
      clock: { wallMs: () => now, monotonicMs: () => 0 },
      clusters: { get: () => aCluster() },
      statefulSets: { get: () => undefined },
      set: { of: () => ({ loop: { decision: null } }), progress: { of: () => ({ trouble: '' }) } },
      leads: () => true,
      putRight: (_: unknown, sentence: string) => told.push(sentence),
    } as unknown as ReconcileStatusParts
    await reconcileStatus(parts)(shop, new AbortController().signal)
    return { written, told }
  }
  const { 'app.kubernetes.io/managed-by': managedBy, ...others } = commonLabels('shop')

  it('gets the labels back that a hand took or changed, though no decision was made', async () => {
    expect(await keptOf({ labels: { ...others, mine: 'x' } })).toEqual({
      written: [{ name: 'shop', metadata: { uid: 's1', labels: { 'app.kubernetes.io/managed-by': managedBy } } }],
      told: ['StatefulSet shop had lost what Regent knows it by: app.kubernetes.io/managed-by put back'],
    })
    const { written } = await keptOf({ labels: { ...commonLabels('shop'), 'regent.dev/cluster': 'other' } })
    expect(written).toMatchObject([{ metadata: { labels: { 'regent.dev/cluster': 'shop' } } }])
  })

  it.each<readonly [string, object, boolean]>([
    ['is there and was only not heard of', {}, true],
    ['is gone', {}, false],
    ['is ending', { labels: {}, deletionTimestamp: 'now' }, true],
    ['is of somebody else', { labels: {}, ownerReferences: [] }, true],
  ])('is left as it is where it %s', async (_, metadata, isThere) => {
    expect(await keptOf(metadata, isThere)).toEqual({ written: [], told: [] })
  })
})

import { describe, expect, it } from 'vitest'
import { virtualWorld } from '#common/ports/testing-world.ts'
import type { Change } from '#orchestrator/trees/step.ts'
import type { Adoption } from '../adoption.ts'
import type { TreeHand } from '../trees/tree-hand.ts'
import type { WatchedCluster } from '../watch/watched-cluster.ts'
import { anAdoption } from '../watch/testing.ts'
import { takeUp, watchingHands } from './watching-hands.ts'

const change: Change = { steps: [{ do: 'lead', at: 'shop-1' }] }
const begun = { kind: 'failover', analysis: 'DeadMaster', from: 'shop-0' } as const

function handsOn() {
  const seen = { adoption: anAdoption() as Adoption | undefined, done: 0, outcomes: [] as string[] }
  const noteRecovery: WatchedCluster['noteRecovery'] = ({ outcome }) => void seen.outcomes.push(outcome)
  const clusters = () =>
    seen.adoption === undefined ? [] : [{ adoption: seen.adoption, noteRecovery } as unknown as WatchedCluster]
  const finished: string[] = []
  const hand = {
    carryOut: async () => (seen.done++, []),
    finishOne: async (cluster: string) => void finished.push(cluster),
  } as unknown as TreeHand
  const hands = watchingHands(clusters, { hand, discover: async () => undefined, world: virtualWorld() })
  return { seen, hands, finished }
}

it('What a change has left is done later, too, and in the middle of no recovery', async () => {
  const { hands, finished } = handsOn()
  await hands.finishAll()
  expect(finished).toEqual(['shop'])
  const under = hands.begin('shop', begun)
  await hands.finishAll()
  under.end({ outcome: 'undone', sentence: 'nobody may lead', to: null, lost: [] })
  await hands.finishAll()
  expect(finished).toEqual(['shop', 'shop'])
})

it('A recovery goes on at none of the servers that have their names only since it began', async () => {
  const { seen, hands } = handsOn()
  const under = hands.begin('shop', begun)
  await under.carryOut(change)
  const adoption = anAdoption()
  seen.adoption = { ...adoption, hosts: adoption.hosts.slice(1) }
  await expect(under.carryOut(change)).rejects.toThrow('shop-0 is another server since shop was adopted anew')
  expect(seen.done).toBe(1)
})

it('A recovery of a cluster that is watched no more ends, and nobody rejects what is only told', () => {
  const { seen, hands } = handsOn()
  const under = hands.begin('shop', begun)
  seen.adoption = undefined
  under.tell('it goes on')
  under.end({ outcome: 'succeeded', sentence: 'shop-1 leads', to: 'shop-1', lost: [] })
  seen.adoption = anAdoption()
  hands.begin('shop', begun)
  expect(seen.outcomes).toEqual(['running', 'running'])
})

describe('What a manager before has begun', () => {
  const taking = async (finishOne: () => Promise<unknown>) => {
    const [ended, failed] = [[] as string[], [] as unknown[]]
    const endRecoveries: WatchedCluster['endRecoveries'] = ({ outcome }) => void ended.push(outcome)
    const cluster = { adoption: anAdoption(), endRecoveries } as unknown as WatchedCluster
    await takeUp(cluster, { finishOne } as unknown as TreeHand, (error) => void failed.push(error))
    return { ended, failed }
  }

  it('ends where nothing of it is left', async () => {
    expect(await taking(async () => undefined)).toEqual({ ended: ['abandoned'], failed: [] })
    const led = async () => ({ leads: 'shop-1', failed: [] })
    expect((await taking(led)).ended[0]).toBe('succeeded')
    const undone = async () => ({ leads: null, failed: ['shop-1 is not opened any more'] })
    expect((await taking(undone)).ended[0]).toBe('undone')
  })

  it('goes on where nobody can be asked yet: what comes of it is told once that is known', async () => {
    const waits = async () => ({ leads: null, failed: ['shop-1 is away'], isPending: true })
    expect((await taking(waits)).ended).toEqual([])
  })

  it('keeps no manager from watching, where what is left cannot be read', async () => {
    const damaged = new Error('the file is damaged')
    expect(await taking(async () => Promise.reject(damaged))).toEqual({ ended: ['abandoned'], failed: [damaged] })
  })
})

it('A cluster where what a change has left cannot be done keeps none of the others from its end', async () => {
  const [first, second] = ['shop', 'bank'].map((cluster) => ({ adoption: { ...anAdoption(), cluster } }))
  const finished: string[] = []
  const hand = {
    finishOne: async (cluster: string) => {
      if (cluster === 'shop') throw new Error('the file of shop is damaged')
      finished.push(cluster)
    },
  } as unknown as TreeHand
  const clusters = () => [first, second] as unknown as readonly WatchedCluster[]
  const hands = watchingHands(clusters, { hand, discover: async () => undefined, world: virtualWorld() })
  await expect(hands.finishAll()).rejects.toThrow('shop: the file of shop is damaged')
  expect(finished).toEqual(['bank'])
})

import { say } from '#common/sentence/sentence.ts'
import { describe, expect, it } from 'vitest'
import type { CommitAction } from '#failover/protocol/decision.ts'
import { aRecord } from '#failover/testing.ts'
import type { Store } from '#store/store.ts'
import { RecordKeeper } from './record-keeper.ts'

const before = aRecord({ revision: 4 })
const commit: CommitAction = { kind: 'commit', why: say`shop-1 leads`, next: aRecord({ revision: 5, epoch: 9 }) }

function keeping(compareAndSwap: Store['compareAndSwap']): RecordKeeper {
  const keeper = new RecordKeeper({ compareAndSwap } as Store, 'shop')
  keeper.learn(before)
  return keeper
}

describe('The record’s keeper', () => {
  it('commits over the revision that was read, and keeps what was committed', async () => {
    const asked: unknown[] = []
    const keeper = keeping(async (...words) => asked.push(words) > 0)
    expect(await keeper.commit(commit)).toEqual({ before, action: commit })
    expect(asked).toEqual([['shop', 4, commit.next]])
    expect(keeper.record).toBe(commit.next)
  })

  it('keeps what was read where somebody else changed the record', async () => {
    const keeper = keeping(async () => false)
    expect(await keeper.commit(commit)).toBeNull()
    expect(keeper.record).toBe(before)
    expect(keeper.learn(commit.next)).toBeNull()
  })

  it('finds out once, by reading, whether a commit without an answer was done', async () => {
    const keeper = keeping(() => Promise.reject(new Error('no answer')))
    await expect(keeper.commit(commit)).rejects.toThrow('no answer')
    expect(keeper.learn(commit.next)).toEqual({ before, action: commit })
    expect(keeper.learn(commit.next)).toBeNull()
  })

  it('does not take the commit of somebody else for its own', async () => {
    const keeper = keeping(() => Promise.reject(new Error('no answer')))
    await expect(keeper.commit(commit)).rejects.toThrow('no answer')
    expect(keeper.learn(aRecord({ revision: 5, epoch: 8 }))).toBeNull()
    expect(keeper.learn(commit.next)).toBeNull()
  })

  it.each<[string, Store['compareAndSwap']]>([
    ['is done', async () => true],
    ['gets no answer', () => Promise.reject(new Error('no answer'))],
  ])('learns nothing from a look that began before a commit %s', async (_what, compareAndSwap) => {
    const keeper = keeping(compareAndSwap)
    const isNewest = keeper.look()
    await keeper.commit(commit).catch(() => undefined)
    expect(isNewest()).toBe(false)
    expect(keeper.look()()).toBe(true)
  })

  it('learns nothing from a look that began before one that has ended', () => {
    const keeper = keeping(async () => true)
    const [slow, fast] = [keeper.look(), keeper.look()]
    expect([fast(), slow()]).toEqual([true, false])
  })
})

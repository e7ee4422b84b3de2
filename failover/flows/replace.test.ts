import { saying } from '#test/support/said-as-text.ts'
import { describe, expect, it } from 'vitest'
import { memberId, type MemberId } from '#topology/snapshot/member.ts'
import { gtids } from '#topology/testing.ts'
import { decide } from '../decide.ts'
import { group } from '../group/decide-group.ts'
import { aGroupSituation } from '../group/testing-group.ts'
import { semisync } from '../semisync/decide-semisync.ts'
import { planReplace } from './replace.ts'
import {
  aSituation,
  committed,
  deadServer,
  lostAgent,
  memberElsewhere,
  shop1,
  shop2,
  switchoverIntent,
  type SituationOverrides,
} from '../testing.ts'

const plan = (given: SituationOverrides = {}, { instance = 'shop-2', acceptLoss = false } = {}) =>
  planReplace(aSituation(given), instance, acceptLoss, semisync)
const lost: SituationOverrides = { views: { 'shop-2': lostAgent }, record: { syncSet: [shop1] } }

describe('an instance is given up', () => {
  it('when it is lost and has left the sync set, and does not wait for its machine', () => {
    expect(plan(lost)).toMatchObject({
      isSilent: true,
      loss: '',
      steps: [
        'the volume of shop-2 is given up, and all that is on it',
        saying('nothing waits for the machine it was on'),
        saying('is made anew'),
        saying('follows shop-0'),
      ],
    })
  })

  it('when a manager that just began has never heard it', () => {
    expect(plan({ ...lost, views: { 'shop-2': { unheard: true } } })).toMatchObject({ isSilent: true })
  })

  it('when it counts and follows: it then ends in order, and it leaves the sync set first', () => {
    expect(plan()).toMatchObject({
      isSilent: false,
      loss: '',
      steps: expect.arrayContaining([saying('leaves the sync set')]) as string[],
    })
  })

  it('when its server is dead and its agent answers', () => {
    expect(plan({ ...lost, views: { 'shop-2': deadServer } })).toMatchObject({ isSilent: false })
  })
})

describe('an instance is not given up, whatever loss is accepted', () => {
  const refusals: Readonly<Record<string, readonly [says: string, given: SituationOverrides, instance?: string]>> = {
    'while it is primary and lives': ['shop-0 is primary; regent switchover first', {}, 'shop-0'],
    'while it is primary and dead': [
      'mysqld of shop-0 is dead; regent failover first',
      { views: { 'shop-0': deadServer } },
      'shop-0',
    ],
    'while the primary is dead': [
      'shop-2 may hold what its successor needs: mysqld of shop-0 is dead',
      { views: { 'shop-0': deadServer } },
    ],
    'while nobody knows how the primary is': ['the primary is not well', { views: { 'shop-0': lostAgent } }],
    'while a switchover is under way': ['a switchover is under way', { record: { intent: switchoverIntent() } }],
    'while nobody is seeded without a person': ['reseed is manual', { spec: { reseed: 'manual' } }],
    'while the cluster is paused': [
      'the cluster is paused (maintenance)',
      { notes: { paused: { reason: 'maintenance', wallMs: 0 } } },
    ],
  }
  it.each(Object.entries(refusals))('%s', (_, [says, given, instance = 'shop-2']) => {
    expect(plan(given, { instance, acceptLoss: true })).toEqual({ refusal: saying(says) })
  })
})

describe('an instance is given up only if the loss is accepted', () => {
  const losses: Readonly<Record<string, readonly [says: string, given: SituationOverrides]>> = {
    'where no other replica counts': [
      'on shop-0 alone: besides shop-2, 1 must follow and count, and 0 do',
      { record: { syncSet: [shop2] } },
    ],
    'where the other one that counts does not follow': [
      'on shop-0 alone',
      { views: { 'shop-1': { server: { channel: { ioRunning: 'no' } } } } },
    ],
    'where the other one that counts is silent': [
      'on shop-0 alone',
      { ...lost, views: { 'shop-1': lostAgent, 'shop-2': lostAgent } },
    ],
    'where the other one is about to leave': ['on shop-0 alone', { record: { leaving: [shop1] } }],
    'where the other one may have forgotten what it acknowledged': [
      'on shop-0 alone',
      { views: { 'shop-1': { stored: { forgetful: true } } } },
    ],
    'where the other one was told to end': ['on shop-0 alone', { views: { 'shop-1': { terminating: true } } }],
    'where the other one is scaled away': ['on shop-0 alone', { notes: { instances: 1 } }],
    'where the other one is fenced': [
      'on shop-0 alone',
      { notes: { fenced: [{ instance: 'shop-1', keepPrimary: false, wallMs: 0 }] } },
    ],
    'where the other one went back in time': [
      'on shop-0 alone',
      { views: { 'shop-1': { stored: { fromThePast: true } } } },
    ],
    'where the other one ever had a filter': [
      'on shop-0 alone',
      { views: { 'shop-1': { stored: { filterSeen: true } } } },
    ],
    'where the other one is being copied': [
      'on shop-0 alone',
      { views: { 'shop-1': { seedingProgress: { stage: 'copying', percent: 10, donor: 'shop-0' } } } },
    ],
    'where the other one is errant': [
      'on shop-0 alone',
      { views: { 'shop-1': { server: { executed: `${gtids('shop-0', 100)},${gtids('shop-1', 3)}` } } } },
    ],
    'where a write needs more than the others that are left': [
      'on shop-0 and shop-1 alone: besides shop-2, 2 must follow and count, and 1 does',
      { record: { acksWanted: 2 } },
    ],
    'where writes need nothing and nobody else follows': [
      'on shop-0 alone',
      { record: { acks: 0, acksWanted: 0, syncSet: [] }, views: { 'shop-1': lostAgent, 'shop-2': lostAgent } },
    ],
    'while it has not left the sync set yet': ['shop-2 leaves the sync set', { views: { 'shop-2': lostAgent } }],
    'while what it alone has is not archived': [
      'shop-2 alone holds 3 errant transactions',
      { ...lost, views: { 'shop-2': { server: { executed: `${gtids('shop-0', 100)},${gtids('shop-2', 3)}` } } } },
    ],
  }
  it.each(Object.entries(losses))('%s', (_, [says, given]) => {
    expect(plan(given)).toEqual({
      refusal: saying(new RegExp(`${says}.*Only --accept-loss gives shop-2 up`)),
    })
    expect(plan(given, { acceptLoss: true })).toMatchObject({ loss: saying(says) })
  })
})

it('an instance that was given up a moment ago is no proven copy, whatever its agent says, until another volume is there', () => {
  const given = (member: MemberId) => planReplace(aSituation({ givenUp: [member] }), 'shop-2', false, semisync)
  expect(given(shop1)).toEqual({ refusal: saying('on shop-0 alone') })
  expect(given(memberId('shop-1', 'the volume before'))).toMatchObject({ loss: '' })
})

describe('after a replacement', () => {
  it('the lost member leaves the record by itself, and the new one is let in', () => {
    const replaced: SituationOverrides = { views: { 'shop-2': { member: memberElsewhere } } }
    expect(committed(decide(aSituation({ ...replaced, record: { syncSet: [shop1, shop2] } })))).toMatchObject({
      syncSet: [shop1, shop2, memberElsewhere],
    })
    expect(
      committed(decide(aSituation({ ...replaced, record: { syncSet: [shop1, shop2, memberElsewhere] } }))),
    ).toMatchObject({ leaving: [shop2] })
  })
})

it('nothing is given up in a group without a majority, although the agent of its primary says that its server runs', () => {
  const alone = { members: { 'shop-0': 'ONLINE', 'shop-1': 'UNREACHABLE', 'shop-2': 'UNREACHABLE' } } as const
  const situation = aGroupSituation({
    sees: { 'shop-0': alone },
    views: { 'shop-1': lostAgent, 'shop-2': lostAgent },
  })
  expect(planReplace(situation, 'shop-2', true, group)).toEqual({ refusal: saying('the primary is not well') })
})

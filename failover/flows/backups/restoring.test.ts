import { expect, it } from 'vitest'
import { gtids, type ViewOverrides } from '#topology/testing.ts'
import { decide } from '#failover/decide.ts'
import { aSituation, aSpec, committed, type SituationOverrides } from '#failover/testing.ts'

const restore = { store: { address: '/backups' }, of: 'prod' }
const fresh = (overrides: ViewOverrides = {}): ViewOverrides => ({
  ...overrides,
  server: overrides.server === null ? null : { executed: '', received: '', channel: null, ...overrides.server },
  stored: { promise: 0, revision: 0, assignment: null, ...overrides.stored },
})

/** A cluster without a record that is to begin with the newest backup of another one. */
function begin(views: Readonly<Record<string, ViewOverrides>> = {}, given: SituationOverrides = {}) {
  const all = { 'shop-0': fresh(), 'shop-1': fresh(), 'shop-2': fresh(), ...views }
  const situation = aSituation({ spec: aSpec({ restore }), ...given, views: all })
  return decide({ ...situation, record: undefined, published: undefined })
}

const progress = { stage: '10 MiB of 20 MiB are here', percent: 50, donor: 'shop-0' }
const failed = { donor: 'shop-0', times: 1, error: 'the store is away' }

it('A cluster that is to begin with a backup has its first instance restore that, before anybody leads', () => {
  const { sentence, actions } = begin()
  expect(sentence).toBe('shop-0 restores the newest of prod, before anybody leads')
  expect(actions).toEqual([{ kind: 'restore', to: 'shop-0', order: expect.objectContaining(restore) as unknown }])
})

it('While that goes on nobody leads, and it is told how far', () => {
  const { sentence, actions } = begin({ 'shop-0': fresh({ seedingProgress: progress }) })
  expect(sentence).toBe('shop-0 restores the newest of prod: 10 MiB of 20 MiB are here')
  expect(actions).toEqual([])
  // Its server answers a moment before the agent has noted what was restored.
  const answers = begin({ 'shop-0': fresh({ seedingProgress: progress, server: { executed: gtids('shop-5', 9) } }) })
  expect(answers.actions).toEqual([])
})

it('Once restored, whoever holds the data leads', () => {
  const restored = fresh({ server: { executed: gtids('shop-5', 9) }, stored: { restored: 'prod/20261126T031209Z' } })
  expect(committed(begin({ 'shop-0': restored })).primary).toMatch(/^shop-0@/)
})

it('A backup of an empty cluster is restored once too', () => {
  const restored = fresh({ stored: { restored: 'prod/20261126T031209Z' } })
  expect(committed(begin({ 'shop-0': restored })).epoch).toBe(1)
})

it('Nothing is restored over data, wherever these are', () => {
  const { sentence, actions, blocked } = begin({ 'shop-2': fresh({ server: { executed: gtids('shop-2', 3) } }) })
  expect([actions, blocked]).toEqual([[], true])
  expect(sentence).toContain(
    'shop-2 holds 3 transactions already, and nothing is restored over data: make a new cluster for the backup, or back these data up and delete their volumes',
  )
})

it('A restore that failed says why, and is tried again after a while', () => {
  const { sentence, actions, blocked } = begin({ 'shop-0': fresh({ seedingFailures: [{ ...failed, agoMs: 10_000 }] }) })
  expect([actions, blocked]).toEqual([[], true])
  expect(sentence).toContain(
    'shop-0 could not restore the newest of prod: the store is away; that is tried again in 20 s',
  )
  expect(begin({ 'shop-0': fresh({ seedingFailures: [{ ...failed, agoMs: 30_000 }] }) }).actions).toHaveLength(1)
})

it('A restore that was refused is not tried again in a hurry', () => {
  const refused = (agoMs: number) => fresh({ seedingFailures: [{ ...failed, isRefused: true, agoMs }] })
  expect(begin({ 'shop-0': refused(30_000) }).sentence).toContain('the store is away; that is tried again in 10 min')
  expect(begin({ 'shop-0': refused(599_000) }).actions).toEqual([])
  expect(begin({ 'shop-0': refused(600_000) }).actions).toHaveLength(1)
})

it('A restore to a moment, or to a transaction, says so', () => {
  const said = (wanted: object) => begin({}, { spec: aSpec({ restore: { ...restore, ...wanted } }) }).sentence
  expect(said({ until: '2026-11-25T03:12:09Z' })).toContain('restores prod as of 2026-11-25T03:12:09Z')
  expect(said({ before: 'x:23', backup: 'b' })).toContain('restores backup b of prod as before x:23')
  expect(said({ untilGtids: 'x:1-9' })).toContain('restores prod up to x:1-9')
})

it('A cluster of mode group begins so as well', () => {
  const decision = begin({}, { spec: aSpec({ mode: 'group', restore }) })
  expect(decision.actions.map(({ kind }) => kind)).toEqual(['restore'])
})

it('A cluster with a record does not look at what it once began with', () => {
  const decision = decide(aSituation({ spec: aSpec({ restore }) }))
  expect(decision.actions).toEqual([])
})

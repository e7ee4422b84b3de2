import { describe, expect, it } from 'vitest'
import { analyse, decide } from '../decide.ts'
import { aGroupSituation } from '../group/testing-group.ts'
import { describeDowntime, downtimesAt, untilADowntimeEnds, withDowntime, withoutDowntime } from './downtime.ts'
import { emptyNotes, type Downtime } from '../protocol/notes.ts'
import { aSituation, deadServer, type SituationOverrides } from '../testing.ts'

const wallMs = 1_000_000
const of = (instance: string, forMs = 60_000): Downtime => ({
  instance,
  untilWallMs: wallMs + forMs,
  reason: 'new disk',
  owner: 'ann',
})
const expecting = (...downtimes: readonly Downtime[]): SituationOverrides => ({ notes: { downtimes } })

function seen(given: SituationOverrides) {
  return analyse(aSituation(given)).map(({ code, severity, expected = false, sentence }) => ({
    code,
    severity,
    expected,
    sentence,
  }))
}

describe('a downtime', () => {
  it('makes what is wrong with its instance expected: shown with until when, by whom and why, and no warning any more', () => {
    const views = { 'shop-2': deadServer }
    expect(seen({ views })).toMatchObject([{ code: 'ReplicaDead', severity: 'warning', expected: false }])
    const [finding, ...others] = seen({ views, ...expecting(of('shop-2')) })
    expect(others).toEqual([])
    expect(finding).toMatchObject({ code: 'ReplicaDead', severity: 'info', expected: true })
    expect(finding?.sentence).toMatch(
      /^replica shop-2 is dead: .* \(expected: downtime until 1970-01-01 00:17:40 UTC by ann: new disk\)$/,
    )
  })

  it('says nothing about other instances', () => {
    expect(seen({ views: { 'shop-2': deadServer }, ...expecting(of('shop-1')) })).toMatchObject([
      { code: 'ReplicaDead', severity: 'warning', expected: false },
    ])
  })

  it('lowers nothing that is critical: that is about the writes of the whole cluster', () => {
    const writable = { 'shop-2': { server: { readOnly: false, superReadOnly: false } } }
    expect(seen({ views: writable, ...expecting(of('shop-2')) })).toMatchObject([
      { code: 'TwoWritablePrimaries', severity: 'critical', expected: false },
    ])
  })

  it('of the primary holds no failover back', () => {
    const views = { 'shop-0': deadServer }
    const { sentence, actions } = decide(aSituation({ views }))
    expect(actions.map(({ kind }) => kind)).toContain('promise')
    expect(decide(aSituation({ views, ...expecting(of('shop-0')) }))).toMatchObject({ sentence, actions })
  })

  it('ends by itself at its time, and is looked at again then', () => {
    const given = { views: { 'shop-2': deadServer }, ...expecting(of('shop-2', 300)) }
    expect(decide(aSituation(given)).revisitMs).toBeLessThanOrEqual(300)
    expect(seen({ ...given, wallMs: wallMs + 300 })).toMatchObject([{ severity: 'warning', expected: false }])
  })

  it('so it is in a replication group', () => {
    const { revisitMs } = decide(aGroupSituation(expecting(of('shop-2', 300))))
    expect(revisitMs).toBeLessThanOrEqual(300)
    expect(revisitMs).not.toBeNull()
  })

  it('that is long is looked at again every hour, which is as long as a timer may safely be', () => {
    expect(untilADowntimeEnds({ ...emptyNotes, downtimes: [of('shop-1', 30 * 86_400_000)] }, wallMs)).toBe(3_600_000)
    expect(untilADowntimeEnds(emptyNotes, wallMs)).toBeNull()
  })

  it('takes the place of an earlier one of its instance; ended ones are forgotten; without any the field is absent', () => {
    const two = withDowntime(withDowntime(emptyNotes, of('shop-1', 10), wallMs), of('shop-2', 20), wallMs)
    expect(withDowntime(two, of('shop-2', 99), wallMs).downtimes).toEqual([of('shop-1', 10), of('shop-2', 99)])
    expect(withDowntime(two, of('shop-2', 99), wallMs + 10).downtimes).toEqual([of('shop-2', 99)])
    expect(downtimesAt(two, wallMs + 15)).toEqual([of('shop-2', 20)])
    expect(withoutDowntime(two, 'shop-2', wallMs + 15)).toEqual(emptyNotes)
    expect(withoutDowntime(two, 'shop-2', wallMs + 15)).not.toHaveProperty('downtimes')
  })

  it('of nobody who gave a name is described without one', () => {
    expect(String(describeDowntime({ untilWallMs: 1_795_435_390_000, reason: 'new disk', owner: '' }))).toBe(
      'downtime until 2026-11-23 12:03:10 UTC: new disk',
    )
  })
})

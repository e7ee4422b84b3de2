import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { decide } from './decide.ts'
import { conditions, type Condition } from './protocol/condition.ts'
import { emptyNotes } from './protocol/notes.ts'
import { aSituation, aSpec, deadPrimary, deadServer, promised, shop1, type SituationOverrides } from './testing.ts'

const root = join(import.meta.dirname, '..')
const rows = readFileSync(join(root, 'docs/why/conditions.md'), 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('| `'))

describe('The page of all conditions', () => {
  it('has a row for each condition, and for nothing else', () => {
    const told = rows.map((row) => row.split('`')[1])
    expect([...new Set(told)].sort()).toEqual([...conditions].sort())
  })

  it('names files that are there', () => {
    const files = rows.flatMap((row) => [...row.matchAll(/`([\w/-]+\.ts)`/g)].map(([, file = '']) => file))
    expect(files.length).toBeGreaterThanOrEqual(rows.length)
    expect(files.filter((file) => !existsSync(join(root, file)))).toEqual([])
  })
})

describe('The condition of a cluster in mode semisync', () => {
  const paused = { paused: { reason: 'maintenance', wallMs: 0, by: 'person' } } as const
  const switchover = { kind: 'switchover', id: 'one', to: null, deadlineWallMs: 1e15, reason: 'asked for' } as const
  const failover = { kind: 'failover', id: 'one', to: null, acceptLoss: false } as const
  const silent = { reachable: false } as const
  const intent = (by: string) =>
    ({ kind: 'switchover', by, candidate: shop1, request: 'one', deadlineWallMs: 1e15, reason: 'asked for' }) as const
  const { manager } = aSituation()
  const dead = { views: { 'shop-0': deadPrimary } }
  const cases: readonly (readonly [Condition, SituationOverrides])[] = [
    ['primaryWell', {}],
    ['primaryDead', dead],
    ['primaryDead', { ...dead, record: { intent: intent('another manager') } }],
    ['primaryDead', { ...dead, requests: [switchover] }],
    ['failoverHeld', { ...dead, notes: paused }],
    ['failoverHeld', { ...dead, spec: { failover: { automatic: false } } }],
    ['failoverAsked', { ...dead, notes: paused, requests: [failover] }],
    ['primaryWell', { requests: [failover] }],
    ['primaryUnsure', { views: { 'shop-0': silent } }],
    ['primaryStarting', { views: { 'shop-0': { ...deadServer, process: 'starting', processSinceMs: 10 } } }],
    ['switchoverAsked', { requests: [switchover], notes: paused }],
    ['switchingOver', { record: { intent: intent(manager) }, notes: paused, requests: [switchover] }],
    ['intentLeft', { record: { intent: intent('another manager') }, notes: paused }],
    ['promisedInVain', { views: { 'shop-1': promised(100) }, notes: paused, requests: [switchover] }],
    ['paused', { notes: paused }],
    ['recordInDoubt', { ...dead, views: { 'shop-2': { stored: { promise: 3 } } } }],
    ['nobodyAnswers', { nowMs: 60_000, views: { 'shop-0': silent, 'shop-1': silent, 'shop-2': silent } }],
  ]
  it.each(cases)('is %s, given %j', (condition, given) => {
    expect(decide(aSituation(given)).condition).toBe(condition)
  })

  it('is noRecord before there is one, in every mode', () => {
    const given = { ...aSituation(), record: undefined, notes: emptyNotes }
    expect(decide(given).condition).toBe('noRecord')
    expect(decide({ ...given, spec: aSpec({ mode: 'group' }) }).condition).toBe('noRecord')
  })
})

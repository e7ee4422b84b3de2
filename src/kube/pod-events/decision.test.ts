import { expect, it } from 'vitest'
import { say } from '#common/sentence/sentence.ts'
import { pods } from '../pods/stateful-set.ts'
import { metadataChange, within, type PodDecision } from './decision.ts'
import { aMember } from './testing-component.ts'

it('What was said in one namespace changes nothing in another, not even a part of it', () => {
  const change = metadataChange(pods, aMember(0), { labels: { role: 'primary' } })
  const foreign = metadataChange(pods, aMember(1, { metadata: { namespace: 'victim' } }), { labels: { role: null } })
  const told = { weight: 'news', reason: 'RoleChanged', sentence: say`db-0 is primary now` } as const
  const decision: PodDecision = { ...told, changes: [change] }
  expect(within('shops', decision)).toBe(decision)
  expect(within('shops', { ...told, changes: [change, foreign], againAfterMs: 5_000 })).toEqual({
    changes: [],
    weight: 'warning',
    reason: 'ForeignNamespace',
    sentence: 'what was said in namespace shops would change Pod victim/db-1, which is in another: nothing is changed',
  })
})

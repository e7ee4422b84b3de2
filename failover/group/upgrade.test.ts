import { describe, expect, it } from 'vitest'
import { lowestOf } from '#topology/group/versions.ts'
import type { GroupShape } from '#topology/testing-group.ts'
import type { ViewOverrides } from '#topology/testing.ts'
import { decide } from '../decide.ts'
import type { Action } from '../protocol/decision.ts'
import { aGroupSituation, type GroupSituation } from './testing-group.ts'
import { planSwitchover } from './switchover.ts'

const [older, newer] = ['8.4.6', '9.7.4']
const names = ['shop-0', 'shop-1', 'shop-2']

/** A group in the midst of an upgrade: each runs the version that is given, and shop-0 leads. */
function amid(versions: readonly string[], more: GroupSituation = {}): GroupSituation {
  const byName = Object.fromEntries(names.map((name, at) => [name, versions[at] ?? newer]))
  const shape: GroupShape = { versions: byName }
  const views = names.map((name): [string, ViewOverrides] => [
    name,
    { ...more.views?.[name], server: { version: byName[name] ?? '' } },
  ])
  return { ...more, sees: Object.fromEntries(names.map((name) => [name, shape])), views: Object.fromEntries(views) }
}

/** Whom a primary that is told to end hands over to, or why it cannot. */
function handsOver(versions: readonly string[]): string {
  const { actions, sentence } = decide(aGroupSituation(amid(versions, { views: { 'shop-0': { terminating: true } } })))
  const commit = actions.find((action): action is Extract<Action, { kind: 'commit' }> => action.kind === 'commit')
  return commit?.next.intent?.kind === 'switchover' ? commit.next.intent.candidate.slice(0, 6) : sentence
}

describe('In the midst of an upgrade a primary that is told to end', () => {
  it.each([
    [[older, older, newer], 'shop-1'],
    [[older, newer, older], 'shop-2'],
    [[newer, newer, newer], 'shop-1'],
  ])('of %j hands over to one of the lowest version: %s', (versions, to) => {
    expect(handsOver(versions)).toBe(to)
  })

  it('as the last of its version leaves, and the group elects: it would refuse a higher one before', () => {
    expect(handsOver([older, newer, newer])).toMatch(
      /^primary shop-0 is told to end and cannot hand over: .*shop-1 runs MySQL 9\.7\.4, and a member at \S+ runs 8\.4\.6: the lowest version leads/,
    )
  })
})

it('Nobody switches over to a member of a higher version than another’s, whichever versions there are', () => {
  const each = ['8.0.36', '8.0.40', '8.4.6', '9.7.3', '9.7.4']
  const all = each.flatMap((a) => each.flatMap((b) => each.map((c) => [a, b, c])))
  for (const versions of all) {
    const plan = planSwitchover(aGroupSituation(amid(versions)), null)
    const chosen = 'candidate' in plan ? names.findIndex((name) => plan.candidate.startsWith(name)) : null
    if (chosen === null) expect(versions.slice(1)).not.toContain(lowestOf(versions))
    else expect(versions[chosen]).toBe(lowestOf(versions))
  }
})

import { expect, test } from 'vitest'
import { durationMs } from './duration.ts'
import { policyOfRule, promotionRuleOf } from './promotion-rule.ts'
import { hasTags, parseTag, parseTags } from './tags.ts'

test('Durations have a unit, or are seconds', () => {
  expect(['10s', '1h', '2d', '90', '1w', '5m'].map(durationMs)).toEqual([
    10_000, 3_600_000, 172_800_000, 90_000, 604_800_000, 300_000,
  ])
  expect(['', '0', '1y', '-1s', '1 h', '1.5h', '99999999999s'].map(durationMs)).toEqual(Array(7).fill(undefined))
})

test('Each rule is a policy, which is shown as the same rule', () => {
  const rules = ['prefer', 'neutral', 'prefer_not', 'must_not']
  expect(rules.map((rule) => promotionRuleOf(policyOfRule(rule)))).toEqual(rules)
  expect(['must', 'never', '', 'constructor'].map(policyOfRule)).toEqual(Array(4).fill(undefined))
  expect(promotionRuleOf(undefined)).toBe('neutral')
})

test('Tags are names, or names with a value', () => {
  expect(parseTag('role=report')).toMatchObject({ name: 'role', value: 'report', isBare: false, isNot: false })
  expect(parseTag('~role')).toMatchObject({ name: 'role', isNot: true })
  expect(['', '=x', 'a b', 'a=\n', '"', '__proto__ x'].map(parseTag)).toEqual(Array(6).fill(undefined))
})

test('A list of tags is an intersection', () => {
  const has = (text: string) => hasTags({ role: 'report', old: '' }, parseTags(text) ?? [])
  expect(['role', 'role=report', 'role,old', 'role=report,~new'].map(has)).toEqual([true, true, true, true])
  expect(['role=shop', 'role,new', '~old', 'constructor'].map(has)).toEqual([false, false, false, false])
})

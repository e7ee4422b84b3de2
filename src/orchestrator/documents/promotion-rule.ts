import type { InstancePolicy } from '#failover/protocol/instance-policy.ts'
import type { PromotionRule } from './instance.ts'

const lastChoice = -1_000

/** orchestrator's four rules as policies of Regent. `must` is a rule that orchestrator itself refuses. */
const policies: Readonly<Record<Exclude<PromotionRule, 'must'>, InstancePolicy>> = {
  prefer: { promotion: 'prefer', priority: 0 },
  neutral: { promotion: 'neutral', priority: 0 },
  prefer_not: { promotion: 'neutral', priority: lastChoice },
  must_not: { promotion: 'never', priority: 0 },
}

/** Undefined for what is no rule. */
export function policyOfRule(rule: string): InstancePolicy | undefined {
  return Object.hasOwn(policies, rule) ? policies[rule as keyof typeof policies] : undefined
}

export function promotionRuleOf(policy: InstancePolicy | undefined): PromotionRule {
  if (policy === undefined) return 'neutral'
  if (policy.promotion === 'never') return 'must_not'
  if (policy.promotion === 'prefer') return 'prefer'
  return policy.priority < 0 ? 'prefer_not' : 'neutral'
}

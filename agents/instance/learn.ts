import type { FactLog } from './fact-log.ts'
import { facts, type Change, type Fact } from './facts.ts'
import type { Known } from './known.ts'
import { lifeOf, type Life } from './life.ts'
import type { ProcessPort } from '../ports/process.ts'

/** What `learn` needs: what is known, the log of facts, and the process. */
export interface Learner extends Known {
  readonly facts: FactLog
  readonly process: Pick<ProcessPort, 'pid'>
}

/**
 * The only writer of `Known`. Parts are changed in their place: who holds one across a wait sees what is known then.
 * @param pid the mysqld that was looked at. Another one is not changed: that mysqld began with nothing
 */
export function learn(to: Learner, { fact, ...found }: Fact, pid: number | null = to.process.pid): void {
  const effect = facts[fact] as (found: object, known: Known, life: Life) => Change
  const before = lifeOf(to)
  const { converged, life, ...parts } = effect(found, to, before)
  const { course } = to
  const changes: Change = {
    ...parts,
    course: {
      ...parts.course,
      // Another object only where it says something else: who shows that compares no more than the object.
      ...(converged && differs(course.converged, converged) && { converged: { ...course.converged, ...converged } }),
      ...(life && to.process.pid === pid && { life: { ...before, ...life } }),
    },
  }
  const names = Object.keys(changes) as readonly (keyof Known)[]
  const isNews = to.facts.keeps(fact) && names.some((part) => differs(to[part], changes[part]))
  for (const part of names) Object.assign(to[part], changes[part])
  if (isNews) to.facts.add(fact, found)
}

function differs(before: object, change: object | undefined): boolean {
  return Object.entries(change ?? {}).some(([name, now]) => isOther((before as Record<string, unknown>)[name], now))
}

/** What a Map or a Set holds, and a promise, is in no JSON: another one is another. */
function isOther(before: unknown, now: unknown): boolean {
  if (before === now) return false
  return now instanceof Map || now instanceof Set || JSON.stringify(before) !== JSON.stringify(now)
}

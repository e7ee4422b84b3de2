import type { Recovery } from '#failover/protocol/notes.ts'
import { instanceOf, type MemberId } from '#topology/snapshot/member.ts'

/**
 * When each step of a recovery ended, in milliseconds since it was noticed, under a name that is the same in every run:
 * instances are called by what they were in it. Of steps that happen several times the first counts.
 */
export function stepsOf({ timeline, from, to }: Recovery): ReadonlyMap<string, number> {
  const steps = new Map<string, number>()
  for (const { atMs, what } of timeline) {
    const name = stepName(what, from, to)
    if (name !== undefined && !steps.has(name)) steps.set(name, atMs)
  }
  return steps
}

function stepName(what: string, from: MemberId | null, to: MemberId | null): string | undefined {
  if (what.startsWith('noticed')) return undefined
  if (what.startsWith('committed')) return 'record committed'
  if (what.startsWith('route moved')) return 'route moved'
  if (what.startsWith('ended')) return 'primary seen open'
  const [, order, instance] = /^(\w+) (\S+?):/.exec(what) ?? []
  if (order === undefined || instance === undefined) return undefined
  const role = instance === nameOf(to) ? 'new primary' : instance === nameOf(from) ? 'old primary' : 'replica'
  return `${order} ${role}`
}

function nameOf(member: MemberId | null): string {
  return member === null ? '' : instanceOf(member)
}

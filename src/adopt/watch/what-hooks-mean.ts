import { hooksAt, labelOf } from '#failover/protocol/hook.ts'
import { momentNames } from '#failover/protocol/hook-moments.ts'
import type { Adoption } from '../adoption.ts'

/** What is done around a change of the primary, once these servers are managed: a line each. Pure. */
export function whatHooksMean({ hooks, failover }: Pick<Adoption, 'hooks' | 'failover'>): readonly string[] {
  const lines = momentNames.flatMap((moment) => {
    const never = moment === 'powerOff' && failover.acceptLoss === 'never'
    const note = never ? ' (never runs: failover.acceptLoss is never)' : ''
    return hooksAt(hooks, moment).map((hook) => `  hooks.${moment}: ${labelOf(hook)}${note}`)
  })
  return lines.length === 0
    ? [
        'no hooks: a virtual address, or a name in DNS, stays on the old primary when another one leads',
        '  in the adoption file: hooks, see docs/guide/hooks.md; no matter where clients use none of these',
      ]
    : ['run on this machine around a change of the primary:', ...lines]
}

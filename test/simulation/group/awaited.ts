import { removalTimings } from '#agents/group/xcom/removal.ts'
import type { Machine } from '../machine.ts'
import type { Groups } from './groups.ts'
import type { Member } from './member.ts'

const lookMs = 20
/** The agent of a dead member waits no longer than this, and may have waited before it asked this member. */
const waitsMs = removalTimings.allMs - removalTimings.stateMs

/**
 * A server that comes back joins once the removal that its own agent asks for has ended: where that agent goes on, and
 * hears the member that was asked. Nobody waits for a removal that others ask for, nor for a member that was cut off
 * once it had accepted (docs/why/safety.md).
 *
 * @returns whether all of that held until the moment at which that is asked
 */
export function awaited(from: Machine, by: Member, { time, network }: Groups): () => boolean {
  const { agentLife } = from
  const untilMs = time.nowMs + waitsMs
  let isAwaited = true
  const look = (): boolean => {
    const goesOn = agentLife?.runs === true && from.agentLife === agentLife
    const isHeard = by.runs && network.reachesBothWays(from.name, by.name)
    isAwaited &&= goesOn && isHeard && time.nowMs <= untilMs
    return isAwaited
  }
  const lookAgain = (): void => {
    if (look()) time.after(lookMs, lookAgain)
  }
  lookAgain()
  return look
}

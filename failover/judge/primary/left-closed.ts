import { say, type Sentence } from '#common/sentence/sentence.ts'
import { salvages } from '#failover/protocol/mode-name.ts'
import { instanceOf } from '#topology/snapshot/member.ts'
import { isLive, viewOf, type Situation } from '../situation.ts'

/**
 * Why a server that replicas still hear may take no writes: only its own agent, which is silent, could open the server.
 * Either the last word of that agent was a promise, or an intent in the record tells of a change of primary that was
 * under way. Null where nothing speaks against the server.
 */
export function whyLeftClosed(situation: Situation): Sentence | null {
  const name = instanceOf(situation.record.primary)
  const promise = promiseHeardOf(situation)
  if (promise !== null) return say`${name} is closed for epoch ${promise}, and its agent is silent`
  if (!isIntentKept(situation)) return null
  const what = situation.record.intent?.kind ?? ''
  return say`${name} may be closed for a ${what}, and its agent is silent`
}

/** Closed servers alone have promised more than they were assigned. */
function promiseHeardOf({ snapshot, record }: Situation): number | null {
  const stored = viewOf(snapshot, record.primary)?.observation?.stored
  if (stored === undefined) return null
  return stored.promise > (stored.assignment?.epoch ?? 0) ? stored.promise : null
}

/**
 * While the agent of the primary is silent an intent is the only trace of what may have closed its server: nobody takes
 * the intent out of the record before another instance leads. Where nobody acknowledges, a server that replicas hear
 * may be telling clients OK: there an intent proves nothing.
 */
export function isIntentKept(situation: Situation): boolean {
  const { record, spec } = situation
  return record.intent !== null && !salvages(spec) && isPrimarySilent(situation)
}

/** The primary is known, and nothing is heard of its agent. */
export function isPrimarySilent({ record, snapshot }: Situation): boolean {
  const view = viewOf(snapshot, record.primary)
  return view !== undefined && !isLive(view)
}

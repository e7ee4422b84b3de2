import type { PrimaryAssignment, ReplicaAssignment } from '#failover/protocol/assignment.ts'
import type { PromiseOrder } from '#failover/protocol/order.ts'
import type { ServerState } from '#topology/snapshot/observation.ts'
import { nextPass } from './converge/next-pass.ts'
import { runPass } from './converge/runner.ts'
import type { NextPass, Step } from './converge/steps.ts'
import { remembersStop } from './doubts/forgetful.ts'
import { forgetPutRight } from './guard/channel-options.ts'
import type { Course } from './instance/known.ts'
import type { Leading } from './instance/life.ts'
import { viewOf, type View } from './instance/pass.ts'
import type { Parts } from './instance/parts.ts'
import { nextAsPrimary } from './semisync/primary.ts'
import { promise } from './semisync/promise.ts'
import { nextAsReplica } from './semisync/replica.ts'
import { Semisync } from './semisync/semisync.ts'
import { underPromise } from './semisync/under-promise.ts'

/**
 * What the converger does in one pass, where the server has just said `state` and one decision is tested. Resolves to
 * when the next pass is due; null where nothing was to be done.
 */
async function passOf(
  parts: Parts,
  state: ServerState | null,
  decide: (view: View) => NextPass | null,
): Promise<NextPass['next'] | null> {
  let looked = state
  if (state !== null) forgetPutRight(parts, state.channel)
  for (;;) {
    const pass = decide(viewOf(parts, looked))
    if (pass === null) return null
    const isNew = await runPass(parts, pass)
    if (pass.next === 'after a look') {
      looked = await parts.observer.refresh()
      forgetPutRight(parts, looked.channel)
    } else if (pass.next !== 'at once' || !isNew) return pass.next === 'at once' ? 'soon' : pass.next
  }
}

export async function passAsPrimary(
  parts: Parts,
  assignment: PrimaryAssignment,
  state: ServerState,
): Promise<NextPass['next'] | null> {
  return passOf(parts, state, (view) =>
    view.server === null ? null : nextAsPrimary(view, { assignment, state: view.server }),
  )
}

export async function passAsReplica(
  parts: Parts,
  assignment: ReplicaAssignment,
  state: ServerState,
): Promise<NextPass['next'] | null> {
  return passOf(parts, state, (view) => (view.server === null ? null : nextAsReplica(view, assignment, view.server)))
}

/** Everything up to a mysqld that runs, or stays down with a reason. */
export async function passWhileDown(parts: Parts): Promise<void> {
  const mode = new Semisync(parts)
  await passOf(parts, null, (view) => nextPass(view, mode))
}

export async function stopUnderPromise(parts: Parts): Promise<void> {
  await passOf(parts, null, underPromise)
}

/** As the order does. */
export async function givePromise(parts: Parts, order: PromiseOrder): Promise<void> {
  await promise(parts, order)
  await stopUnderPromise(parts)
}

/** What the next pass adds. */
export async function rememberStop(parts: Parts): Promise<void> {
  await passOf(parts, null, remembersStop)
}

/** A mysqld that its agent opened as primary a while ago. */
export const opened: Leading = {
  is: 'leading',
  step: 'open',
  inPlace: false,
  executed: '',
  wasPrepared: false,
  applied: null,
  tidyAtMs: null,
}

/** Does what was decided, and nothing else of that pass. */
export async function perform(parts: Parts, { steps = [] }: Pick<NextPass, 'steps'>): Promise<void> {
  await runPass(parts, { steps, next: 'soon' })
}

/** What a pass does, in words: what it stores, its steps, and its sentence. */
export function told({ store, steps = [], now, then }: NextPass): string {
  const sentence = convergedIn(now, then).sentence ?? ''
  const stores = store === undefined ? [] : [`stores ${Object.keys(store).join()}`]
  return [...stores, ...steps.map(wordsOf), sentence].filter((part) => part !== '').join('; ')
}

/** `setWeight 50`; of a notice its code, and of a fact its name. */
function wordsOf({ do: name, ...decided }: Step): string {
  if (name === 'notice') return `notice ${(decided as { code: string }).code}`
  if (name === 'know') return `know ${(decided as { fact: { fact: string } }).fact.fact}`
  const values = Object.values<unknown>(decided).filter((value) => ['string', 'number'].includes(typeof value))
  return [name, ...values].join(' ')
}

/** What a pass says of convergence. */
export function convergedIn(...facts: readonly NextPass['now'][]): Partial<Course['converged']> {
  const said = facts.flatMap((some) => some ?? []).filter((one) => one.fact === 'converged')
  return Object.assign({}, ...said.map(({ fact: _, ...converged }) => converged)) as Partial<Course['converged']>
}

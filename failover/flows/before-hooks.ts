import { command, counted, duration, say, text, type Sentence } from '#common/sentence/sentence.ts'
import { switchoverAsked, type Situation } from '../judge/situation.ts'
import type { Action, HooksAction } from '../protocol/decision.ts'
import { hooksAt } from '../protocol/hook.ts'
import type { HookMoment } from '../protocol/hook-moments.ts'
import { isNothing, type HookRun, type Recovery } from '../protocol/notes.ts'
import type { Decided } from '../steps/step.ts'

/** A hook that stopped a failover, or a switchover that nobody asked for, is asked again after so long. */
export const askAgainMs = 300_000

const beforeFlow: { readonly [Flow in string]?: HookMoment } = {
  failover: 'beforeFailover',
  switchover: 'beforeSwitchover',
}

/** How far the hooks before something are. */
type Before = { readonly is: 'due' | 'done' } | { readonly is: 'running'; readonly run: HookRun } | Stopped

interface Stopped {
  readonly is: 'stopped'
  readonly run: HookRun
  /** Until it is asked again; null where it has just stopped what is under way. */
  readonly againMs: number | null
}

/**
 * A decision, behind the hooks that run before it. Where a failover or a switchover begins, nothing of it is done until
 * its hooks have ended. Nobody leads in place of a primary of whom nobody hears before a hook said that this primary is
 * off. Both hold in any mode; without such hooks nothing is decided otherwise.
 */
export function behindHooks(situation: Situation, decided: Decided): Decided {
  const moment = beforeFlow[decided.flow ?? '']
  const begun = moment === undefined ? decided : behind(situation, decided, { moment, holds: begins })
  return behind(situation, begun, { moment: 'powerOff', holds: needsProof })
}

interface Gate {
  readonly moment: HookMoment
  /** Actions of this kind wait until their hooks have ended. */
  readonly holds: (situation: Situation, decided: Decided, action: Action) => boolean
}

function behind(situation: Situation, decided: Decided, { moment, holds }: Gate): Decided {
  const hooks = hooksAt(situation.spec.hooks, moment)
  const held = hooks.length === 0 ? [] : decided.actions.filter((action) => holds(situation, decided, action))
  if (held.length === 0) return decided
  const before = howFar(situation, moment)
  const others = decided.actions.filter((action) => !held.includes(action))
  switch (before.is) {
    case 'done':
      return { ...decided, actions: decided.actions.map((action) => inItsTime(situation, moment, action)) }
    case 'stopped':
      return stopped(decided, others, before)
    case 'running':
      return {
        ...decided,
        sentence: say`hook ${before.run.hook} runs before this: ${decided.sentence}`,
        actions: others,
        revisitMs: 1_000,
      }
    case 'due':
      return {
        ...decided,
        sentence: say`${counted(hooks.length, 'hook')} before this: ${decided.sentence}`,
        actions: [...others, { kind: 'hooks', moment, ...leadingTo(held) }],
        revisitMs: 1_000,
      }
  }
}

/** Actions that begin a flow: every step of a failover until its commit; of a switchover its first step, the intent. */
function begins({ record, recovery }: Situation, { flow }: Decided, action: Action): boolean {
  if (flow === 'switchover')
    return action.kind === 'commit' && record.intent === null && action.next.intent?.kind === 'switchover'
  const isCommitted = recovery?.kind === 'failover' && recovery.fromEpoch < record.epoch
  return !isCommitted && ['commit', 'promise', 'demote', 'fetch'].includes(action.kind)
}

/**
 * The commit that lets another server lead, with a loss that was accepted, needs a proof. A person who asks has seen
 * what is wrong, and needs none.
 */
function needsProof(situation: Situation, _: Decided, action: Action): boolean {
  const loss = action.kind === 'commit' ? action.loss : undefined
  return loss !== undefined && !isNothing(loss) && !asksForFailover(situation)
}

function howFar(situation: Situation, moment: HookMoment): Before {
  const { manager } = situation
  const runs = runsUnderWay(situation, moment)
  const stop = runs.find((run) => run.stops === true || provesNothing(run))
  if (stop !== undefined && !asksForFailover(situation)) return { is: 'stopped', run: stop, againMs: null }
  // A hook that another manager began is no reason to wait: that manager is gone.
  const waited = runs.find(({ state, by }) => state === 'due' || (state === 'running' && by === manager))
  if (waited?.state === 'running') return { is: 'running', run: waited }
  if (runs.length > 0) return { is: waited === undefined ? 'done' : 'due' }
  return stoppedBefore(situation, moment) ?? { is: 'due' }
}

/** Nobody knows whether the host is off. */
function provesNothing({ moment, state }: HookRun): boolean {
  return moment === 'powerOff' && ['failed', 'unknown', 'skipped'].includes(state)
}

function runsUnderWay({ notes, recovery }: Situation, moment: HookMoment): readonly HookRun[] {
  return runsOf(
    notes.recoveries.find(({ id }) => id === recovery?.id),
    moment,
  )
}

function runsOf(recovery: Recovery | undefined, moment: HookMoment): readonly HookRun[] {
  return (recovery?.hooks?.runs ?? []).filter((run) => run.moment === moment)
}

/** A person's failover goes past a hook that stops: that person sees what is wrong. */
function asksForFailover({ requests }: Situation): boolean {
  return requests.some(({ kind }) => kind === 'failover')
}

/** A hook stopped the same a while ago, and nobody asks for it now. */
function stoppedBefore(situation: Situation, moment: HookMoment): Stopped | undefined {
  const { notes, record, wallMs } = situation
  if (asksForFailover(situation) || (moment === 'beforeSwitchover' && switchoverAsked(situation))) return undefined
  const last = notes.recoveries.find((one) => one.fromEpoch === record.epoch && runsOf(one, moment).length > 0)
  const run = runsOf(last, moment).find(({ stops }) => stops === true)
  if (run === undefined) return undefined
  const againMs = (run.beganWallMs ?? 0) + (run.ms ?? 0) + askAgainMs - wallMs
  // A clock that was set back holds nothing up for long.
  return againMs > 0 && againMs <= 2 * askAgainMs ? { is: 'stopped', run, againMs } : undefined
}

function stopped(decided: Decided, others: readonly Action[], { run, againMs }: Stopped): Decided {
  const why = whyStopped(decided, run)
  const again = say`${why}; asked again in ${duration(againMs ?? askAgainMs)}`
  return {
    ...decided,
    sentence: decided.flow === 'failover' ? say`${again}; by hand: ${command('failover')}` : again,
    actions: others,
    flow: null,
    blocked: true,
    reasons: [...decided.reasons, decided.sentence],
    revisitMs: 1_000,
    ...(againMs === null && { stopped: why }),
  }
}

function whyStopped({ flow }: Decided, { hook, said }: HookRun): Sentence {
  return flow === 'failover'
    ? say`no failover: hook ${hook} stopped it: ${text(said)}`
    : say`no switchover: hook ${hook} stopped it: ${text(said)}`
}

function leadingTo(held: readonly Action[]): Pick<HooksAction, 'successor' | 'request'> {
  const [next] = held.flatMap((action) => (action.kind === 'commit' ? [action.next] : []))
  const intent = next?.intent?.kind === 'switchover' ? next.intent : null
  return { successor: intent?.candidate ?? next?.primary ?? null, request: intent?.request ?? null }
}

/** The time of a person's switchover begins once its hooks have ended: what they left of theirs is taken off. */
function inItsTime(situation: Situation, moment: HookMoment, action: Action): Action {
  const intent = action.kind === 'commit' ? action.next.intent : null
  const asked = switchoverAsked(situation)
  if (action.kind !== 'commit' || intent?.kind !== 'switchover' || asked?.id !== intent.request) return action
  const taken = runsUnderWay(situation, moment).reduce((all, { ms }) => all + (ms ?? 0), 0)
  const left = Math.max(0, (asked.forHooksMs ?? 0) - taken)
  const deadlineWallMs = Math.max(situation.steadyWallMs + 1, intent.deadlineWallMs - left)
  return { ...action, next: { ...action.next, intent: { ...intent, deadlineWallMs } } }
}

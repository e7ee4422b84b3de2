import { say } from '#common/sentence/sentence.ts'
import type { Decider as DeciderOf } from '../instance/agent-mode.ts'
import { rest, type View } from '../instance/pass.ts'
import { isPromised } from '../instance/stored-state.ts'
import { remembersStop } from '../doubts/forgetful.ts'
import { passesStartGate, readsFiles, staysDown } from './start-gate.ts'
import type { NextPass, Step } from './steps.ts'

type Decider = DeciderOf<Step>

/**
 * What the agent does next with its mysqld: pure, from what is on disk and what is known. The first of the reasons
 * below counts. An agent that died anywhere is replaced by one that decides from the same disk.
 */
export function nextPass(view: View, mode: Decider): NextPass {
  const { stored, process, pod } = view
  if (pod.termination?.stopping) return rest
  // An agent that died between a copy's swap and its proof is found here first: passes and swaps exclude each other.
  if (stored.unproven) return { steps: [{ do: 'takeBack' }], next: 'at once' }
  if (isCopying(view)) return rest
  if (process === 'dead' || process === 'absent') return whileDown(view, mode)
  const kept = keepsPromise(view, mode)
  if (kept !== null) return kept
  return process === 'running' ? whileRunning(view, mode) : whileTornDown(view)
}

/**
 * mysqld is down. A promise comes first: what the dead server holds is read and reported, and nothing is started before
 * that. Then mysqld starts, closed, unless a reason keeps it down (docs/why/safety.md, "A mysqld always starts
 * closed"). A server that was primary since its tail was judged passes the gate first.
 */
function whileDown(view: View, mode: Decider): NextPass {
  const { stored, pod } = view
  const kept = keepsPromise(view, mode)
  if (kept !== null) return kept
  if (pod.termination !== null) return rest
  if (stored.seeding) return staysDown(say`a seeding has not ended; it waits to be seeded again`)
  const held = stored.mayHaveTail ? passesStartGate(view) : null
  return (
    held ??
    restsAfterStarts(view) ?? {
      now: [
        { fact: 'leaveToRestartEnded' },
        { fact: 'converged', done: false, sentence: say`starting mysqld: read-only, offline, replication stopped` },
      ],
      steps: [{ do: 'initialiseWhereEmpty' }, { do: 'start' }],
      next: 'when something changes',
    }
  )
}

/** So many starts follow each other at once: one that fails may be followed by one that succeeds. */
const triedAtOnce = 3
const mostPauseMs = 15_000

/** A start that failed for a taken port, or for the data, fails again: many of them fill the error log and the disk. */
function restsAfterStarts({ startsFailed, processForMs }: View): NextPass | null {
  if (startsFailed <= triedAtOnce) return null
  const pauseMs = Math.min(mostPauseMs, 1_000 * 2 ** (startsFailed - triedAtOnce - 1))
  if (processForMs >= pauseMs) return null
  const why = say`${startsFailed} starts in a row failed, and the next one comes ${pauseMs / 1_000} s after the last`
  return { ...staysDown(why), next: { afterMs: pauseMs - processForMs } }
}

/** Makes true what was promised; null where that is so, and told, and remembered. */
function keepsPromise(view: View, mode: Decider): NextPass | null {
  return (isPromised(view.stored) ? mode.underPromise(view) : null) ?? remembersStop(view)
}

/** The kernel needs time for its memory: of a primary, what its files say is read meanwhile. */
function whileTornDown(view: View): NextPass {
  return (view.hasWrittenAll && view.stored.mayHaveTail ? readsFiles(view) : null) ?? rest
}

/** mysqld answers. */
function whileRunning(view: View, mode: Decider): NextPass {
  if (isPromised(view.stored)) return mode.staysClosed(view)
  const { assignment } = view.stored
  const isReady = assignment !== null && view.server !== null && mode.isReadyFor(view, assignment)
  if (!view.looked && !isReady) return { next: 'after a look' }
  if (assignment !== null) return mode.next(view, assignment)
  return {
    then: [{ fact: 'converged', revision: 0, done: false, sentence: say`waits for its first assignment` }],
    ...rest,
  }
}

/**
 * A member that is copied beside what the member has receives nothing either, until something newer than that copy is
 * asked.
 */
function isCopying({ copying, stored }: View): boolean {
  return copying.progress !== null && (stored.seeding || copying.besideEpoch === stored.promise)
}

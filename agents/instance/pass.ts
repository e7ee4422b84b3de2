import type { Sentence } from '#common/sentence/sentence.ts'
import { lifeOf, type Life } from './life.ts'
import type { Fact } from './facts.ts'
import type { Known } from './known.ts'
import type { Parts } from './parts.ts'
import type { Step } from './steps.ts'
import type { StoredState } from './stored-state.ts'
import { hasWrittenAll } from '../ports/process.ts'
import type { ProcessState, ServerState } from '#topology/snapshot/observation.ts'

/** What the next pass is decided by: read once, so that a decision sees one moment. Nothing of it is changed. */
export interface View extends Known, Pick<Parts, 'config' | 'timings' | 'run'> {
  readonly stored: StoredState
  readonly process: ProcessState
  /** For so long it has been that, and so many starts in a row have not come up. */
  readonly processForMs: number
  readonly startsFailed: number
  /** mysqld is down, or none of its threads writes any more: its files can be read. */
  readonly hasWrittenAll: boolean
  readonly life: Life
  /** What the server said last; null while it has said nothing. */
  readonly server: ServerState | null
  /** The server was asked for this pass. */
  readonly looked: boolean
  readonly nowMs: number
}

/** @param looked what the server said for this pass; null where it was not asked yet */
export function viewOf(parts: Parts, looked: ServerState | null): View {
  const { config, timings, run, told, contact, course, doubts, guards, copying, jobs, pod } = parts
  const nowMs = parts.world.clock.monotonicMs()
  return {
    ...{ config, timings, run, told, contact, course, doubts, guards, copying, jobs, pod },
    stored: parts.file.current,
    process: parts.process.state,
    processForMs: nowMs - parts.process.changedAtMs,
    startsFailed: parts.process.startsFailed ?? 0,
    hasWrittenAll: hasWrittenAll(parts.process),
    life: lifeOf(parts),
    server: looked ?? parts.observer.server,
    looked: looked !== null,
    nowMs,
  }
}

/**
 * What an agent does next. The runner (`agents/converge/runner.ts`) does it in this order: on disk what is to be on
 * disk, then what is known at once, then the steps, one after the other, then what is known once they are done.
 */
export interface NextPass<S = Step> {
  readonly store?: Partial<StoredState>
  readonly now?: readonly Fact[]
  readonly steps?: readonly S[]
  readonly then?: readonly Fact[]
  /**
   * When the next one is decided: at once by the same look at the server, or after another; soon, where nothing tells
   * that something has changed; else when something has.
   */
  readonly next: 'at once' | 'after a look' | 'soon' | 'when something changes' | { readonly afterMs: number }
}

/** Nothing to do, and nothing new to say. */
export const rest: NextPass<never> = { next: 'when something changes' }

/** What is done only where that is so. */
export function when<const S extends readonly unknown[]>(isSo: boolean, ...steps: S): readonly S[number][] {
  return isSo ? steps : []
}

/** Tells people what happened. */
export function notice(code: string, sentence: Sentence): Step {
  return { do: 'notice', code, sentence }
}

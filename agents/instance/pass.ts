import { lifeOf, type Life } from './life.ts'
import type { Fact } from './facts.ts'
import type { Known } from './known.ts'
import type { Parts } from './parts.ts'
import type { StoredState } from './stored-state.ts'
import type { ProcessState, ServerState } from '#topology/snapshot/observation.ts'

/** What the next pass is decided by: read once, so that a decision sees one moment. Nothing of it is changed. */
export interface View extends Known, Pick<Parts, 'config' | 'timings' | 'run'> {
  readonly stored: StoredState
  readonly process: ProcessState
  readonly life: Life
  /** What the server said last; null while it has said nothing. */
  readonly server: ServerState | null
  /** That was said for this pass. */
  readonly looked: boolean
  readonly nowMs: number
}

/** @param looked what the server said for this pass; null where it was not asked yet */
export function viewOf(parts: Parts, looked: ServerState | null): View {
  const { config, timings, run, told, contact, course, doubts, guards, copying, jobs, pod } = parts
  return {
    ...{ config, timings, run, told, contact, course, doubts, guards, copying, jobs, pod },
    stored: parts.file.current,
    process: parts.process.state,
    life: lifeOf(parts),
    server: looked ?? parts.observer.server,
    looked: looked !== null,
    nowMs: parts.world.clock.monotonicMs(),
  }
}

/** One thing to do. `name` tells what, in tests and to readers. */
export interface Step {
  readonly name: string
  /** Resolves to what was found out by it. */
  readonly run: (parts: Parts) => Promise<Fact | undefined>
}

/**
 * What an agent does next. The runner (`agents/converge/runner.ts`) does it in this order: on disk what is to be on
 * disk, then what is known at once, then the steps, one after the other, then what is known once they are done.
 */
export interface NextPass {
  readonly store?: Partial<StoredState>
  readonly now?: readonly Fact[]
  readonly steps?: readonly Step[]
  readonly then?: readonly Fact[]
  /**
   * When the next one is decided: at once by the same look at the server, or after another; soon, where nothing tells
   * that something has changed; else when something has.
   */
  readonly next: 'at once' | 'after a look' | 'soon' | 'when something changes' | { readonly afterMs: number }
}

/** Nothing to do, and nothing new to say. */
export const rest: NextPass = { next: 'when something changes' }

/** A step that finds nothing out. */
export function step(name: string, run: (parts: Parts) => Promise<unknown>): Step {
  return { name, run: (parts) => run(parts).then(() => undefined) }
}

/** Tells people what happened. */
export function notice(code: string, sentence: string): Step {
  return step(`notice ${code}`, async ({ notices }) => notices.add(code, sentence))
}

/** On disk in the midst of steps: what may be so only once the step before is done. */
export function onDisk(change: Partial<StoredState>): Step {
  return step(`on disk ${Object.keys(change).join(', ')}`, ({ file }) => file.update(change))
}

export const closeForWrites = step('close for writes', ({ server }) => server.setReadOnly('closed'))

/** What the agent has changed: whatever was seen before is not looked at again. */
export const outdate = step('outdate', async ({ observer }) => observer.outdate())

import { say } from '#common/sentence/sentence.ts'
import { leadingOf, lifeOf } from '../instance/life.ts'
import type { Watch } from '#common/watch/watch.ts'
import type { Parts } from '../instance/parts.ts'
import { leads } from '../instance/stored-state.ts'

type EventParts = Pick<Parts, 'course' | 'file' | 'process' | 'server' | 'world'>

/** Between two looks where no event was changed: a hand may remove what was recorded, and no change is counted then. */
const lookMs = 3_000

/**
 * Keeps the record of which events a person disabled, at the primary, where they run: a replica cannot tell them from
 * those that replication disabled.
 */
export class EventKeeper implements Watch {
  readonly name = 'events that are disabled'
  readonly failure = {
    code: 'EventsNotRecorded',
    sentence: say`events that are disabled could not be recorded for the next primary`,
  }
  readonly #parts: EventParts
  /** How often events had been changed when they were recorded last, and by which mysqld (pid) that was counted. */
  #recorded: { readonly pid: number | null; readonly changes: number; readonly atMs: number } | null = null

  constructor(parts: EventParts) {
    this.#parts = parts
  }

  /** The server is asked seldom where no event was changed. */
  isDue(): boolean {
    const { server, process, world } = this.#parts
    if (this.#recorded?.pid !== process.pid || this.#recorded.changes !== server.eventChanges()) return true
    return world.clock.monotonicMs() - this.#recorded.atMs >= lookMs
  }

  async look(): Promise<void> {
    const { server, process, world } = this.#parts
    const seen = { pid: process.pid, changes: server.eventChanges() }
    await server.recordEvents()
    this.#recorded = { ...seen, atMs: world.clock.monotonicMs() }
  }

  /** What was recorded is gone. */
  forget(): void {
    this.#recorded = null
  }

  /** Not before this primary has enabled what ran at the one before. */
  while(): boolean {
    const { file, process, course } = this.#parts
    const leading = leadingOf(lifeOf(this.#parts))
    const isPrimary = process.state === 'running' && leads(file.current)
    return isPrimary && course.converged.done && leading?.step === 'open' && leading.tidyAtMs === null
  }
}

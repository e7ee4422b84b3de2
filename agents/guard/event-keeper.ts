import { say } from '#common/sentence/sentence.ts'
import { leadingOf, lifeOf } from '../instance/life.ts'
import type { Watch } from '#common/watch/watch.ts'
import type { Parts } from '../instance/parts.ts'
import { leads } from '../instance/stored-state.ts'

type EventParts = Pick<Parts, 'course' | 'file' | 'process' | 'server'>

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
  #recorded: { readonly pid: number | null; readonly changes: number } | null = null

  constructor(parts: EventParts) {
    this.#parts = parts
  }

  /** The server is asked nothing where no event was changed. */
  isDue(): boolean {
    const { server, process } = this.#parts
    return this.#recorded?.pid !== process.pid || this.#recorded.changes !== server.eventChanges()
  }

  async look(): Promise<void> {
    const { server, process } = this.#parts
    const seen = { pid: process.pid, changes: server.eventChanges() }
    await server.recordEvents()
    this.#recorded = seen
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

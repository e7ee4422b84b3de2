import { leadingOf, lifeOf } from '../instance/life.ts'
import { describeError } from '#common/errors/errors.ts'
import type { Parts } from '../instance/parts.ts'
import { leads } from '../instance/stored-state.ts'

/**
 * Keeps the record of which events a person disabled, at the primary, where they run: a replica cannot tell them from
 * those that replication disabled.
 */
export class EventKeeper {
  readonly #parts: Parts
  /** How often events had been changed when they were recorded last, and by which mysqld (pid) that was counted. */
  #recorded: { readonly pid: number | null; readonly changes: number } | null = null
  #recording = false

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Asks the server nothing where no event was changed. Never rejects; one at a time. */
  async look(): Promise<void> {
    const {
      server,
      process: { pid },
      notices,
    } = this.#parts
    const changes = server.eventChanges()
    const isKnown = this.#recorded?.pid === pid && this.#recorded.changes === changes
    if (this.#recording || isKnown || !this.#runsEvents()) return
    this.#recording = true
    try {
      await server.recordEvents()
      this.#recorded = { pid, changes }
    } catch (error) {
      const why = describeError(error)
      notices.add('EventsNotRecorded', `which events are disabled could not be recorded for the next primary: ${why}`)
    }
    this.#recording = false
  }

  /** What was recorded is gone. */
  forget(): void {
    this.#recorded = null
  }

  /** Not before this primary has enabled what ran at the one before. */
  #runsEvents(): boolean {
    const { file, process, course } = this.#parts
    const leading = leadingOf(lifeOf(this.#parts))
    const isPrimary = process.state === 'running' && leads(file.current)
    return isPrimary && course.converged.done && leading?.step === 'open' && leading.tidyAtMs === null
  }
}

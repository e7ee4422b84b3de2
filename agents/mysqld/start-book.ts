import { say, text, type Said, type Sentence } from '#common/sentence/sentence.ts'
import { stat } from 'node:fs/promises'
import type { AgentConfig } from '../instance/config.ts'
import type { VolumeLayout } from '../instance/volume-layout.ts'
import { readErrorLog } from '../volume/error-log.ts'
import { lastErrorsIn } from './command.ts'
import {
  changesSince,
  isSameSettings,
  ownSettings,
  readGoodSettings,
  writeGoodSettings,
  type GoodSettings,
  type OwnSettings,
} from './good-settings.ts'

/**
 * How starts of mysqld ended. Settings that mysqld takes, and does not come up with, are not tried for ever: the next
 * start is with those of the last good one. Where mysqld comes up with these, the others are the reason, and stay out
 * until a person changes them. Where it does not, something else is the reason, and the next start is as configured.
 */
export class StartBook {
  readonly #config: AgentConfig
  readonly #layout: VolumeLayout
  #known: GoodSettings | undefined
  #isRecalled = false
  /** The start is of this agent: with which settings another agent started mysqld nobody knows. */
  #isBegun = false
  /** The next start is with the settings of the last good one. */
  #goesBack = false
  #used: OwnSettings
  #logFrom = 0
  #failed = ''
  #failures = 0
  #refused = ''

  constructor(config: AgentConfig, layout: VolumeLayout) {
    this.#config = config
    this.#layout = layout
    this.#used = ownSettings(config)
  }

  /** Why the last start did not come up; '' once one did. */
  get failed(): string {
    return this.#failed
  }

  /** So many starts in a row did not come up. */
  get failures(): number {
    return this.#failures
  }

  /** The settings that are why it did not come up; '' for none. */
  get refused(): string {
    return this.#refused
  }

  /** What an earlier agent knew of this volume. */
  async recall(): Promise<void> {
    if (this.#isRecalled) return
    this.#known = await readGoodSettings(this.#layout)
    this.#isRecalled = true
    const refused = this.#known?.refused
    if (refused === undefined || !isSameSettings(refused.settings, this.#config)) return
    this.#goesBack = true
    this.#refused = refused.words
  }

  /** A start begins. Gives the settings that it is with. */
  async begin(): Promise<OwnSettings> {
    await this.recall()
    this.#isBegun = true
    this.#used = this.#goesBack && this.#known !== undefined ? this.#known.good : ownSettings(this.#config)
    this.#logFrom = await stat(this.#layout.errorLog).then(
      ({ size }) => size,
      () => 0,
    )
    return this.#used
  }

  /** A start of this agent has not come up yet. */
  get isUnderWay(): boolean {
    return this.#isBegun
  }

  /** Whether mysqld has said that it takes connections; what it came up with is noted then. */
  async isReady(): Promise<boolean> {
    if (!this.#isBegun) return true
    const log = await readErrorLog(this.#layout)
    if (log.kind === 'read' && !log.seen.has('ready')) return false
    // A log that was taken away tells nothing: that mysqld runs has to do.
    await this.#cameUp()
    return true
  }

  async #saysReady(): Promise<boolean> {
    const log = await readErrorLog(this.#layout)
    return log.kind === 'read' && log.seen.has('ready')
  }

  async #cameUp(): Promise<void> {
    if (!this.#isBegun) return
    this.#isBegun = false
    const isOwn = isSameSettings(this.#used, this.#config)
    const words = this.#refused || this.#failed
    this.#failed = ''
    this.#failures = 0
    this.#refused = isOwn ? '' : words
    if (!isOwn && this.#known?.refused !== undefined && isSameSettings(this.#known.refused.settings, this.#config))
      return
    const settings = ownSettings(this.#config)
    const known = isOwn ? { good: settings } : { good: this.#used, refused: { settings, words } }
    await writeGoodSettings(this.#layout, known)
    this.#known = known
  }

  /**
   * mysqld ended before it was seen up. Gives what is to be said of that; '' where it was up all the same.
   * @param byItself nobody killed mysqld: what was killed says nothing of its settings
   */
  async ended(what: Sentence, byItself: boolean): Promise<Said> {
    const { errorLog } = this.#layout
    if (await this.#saysReady()) {
      await this.#cameUp()
      return ''
    }
    const errors = await lastErrorsIn(errorLog, this.#logFrom)
    const good = this.#known?.good
    const changes = good === undefined ? [] : changesSince(good, this.#used)
    const since = changes.length === 0 ? '' : `; changed since the last good start: ${changes.join(', ')}`
    const why = `${errors || `see ${errorLog}`}${since}`
    const said = say`${what}: ${text(why)}`
    if (!byItself) return said
    this.#goesBack = changes.length > 0
    this.#refused = ''
    this.#failed = why
    this.#failures += 1
    return said
  }
}

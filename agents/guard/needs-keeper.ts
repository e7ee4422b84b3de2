import { say } from '#common/sentence/sentence.ts'
import { codeOf } from '#common/errors/errors.ts'
import type { Watch } from '#common/watch/watch.ts'
import { counted } from '#common/text/words.ts'
import type { Lack } from '#topology/snapshot/observation.ts'
import { letAccountsChange } from '../instance/account-changes.ts'
import { leadingOf, lifeOf } from '../instance/life.ts'
import { learn, type Learner } from '../instance/learn.ts'
import type { Parts } from '../instance/parts.ts'
import { agentPutsRight } from '../ports/server.ts'
import { isPromised, leads } from '../instance/stored-state.ts'

/** Between two looks while nothing hints at a lack, and where what was lacking could not be put right. */
const lookMs = 3_000
const failedMs = 10_000
const mostNamed = 3

interface Beside {
  /** Runs alone, beside no pass and no order. */
  readonly alone: <T>(task: () => Promise<T>) => Promise<T>
  /** Regent's schema was made again: what was kept in it is to be written again. */
  readonly schemaIsNew: () => void
}

type NeedsKeeperParts = Learner &
  Pick<Parts, 'changed' | 'file' | 'notices' | 'observer' | 'process' | 'server' | 'world'>

/**
 * Looks, while all is well, at what a failover, a copy or the next start of mysqld rests upon, and puts right what a
 * hand took away, through the sessions that are open. The schema is replicated by an open primary, so that its replicas
 * have the tables before any marker; accounts are each server's own.
 */
export class NeedsKeeper implements Watch {
  readonly name = 'what failovers rest upon'
  readonly failure = { code: 'NeedsUnknown', sentence: say`the needs of failovers could not be looked at` }
  readonly #parts: NeedsKeeperParts
  readonly #beside: Beside
  #dueAtMs = -Infinity
  /** By the last look: then it is opened for accounts. */
  #isServerLacking = false

  constructor(parts: NeedsKeeperParts, beside: Beside) {
    this.#parts = parts
    this.#beside = beside
  }

  while(): boolean {
    const { observer, process, copying } = this.#parts
    return observer.server !== null && process.state === 'running' && copying.progress === null
  }

  /** An applier that stopped may lack a table. */
  isDue(): boolean {
    const { observer, world } = this.#parts
    const isHinted = (observer.server?.channel?.sqlError ?? '') !== ''
    return isHinted || world.clock.monotonicMs() >= this.#dueAtMs
  }

  async look(): Promise<void> {
    try {
      await this.#lookAndSupply()
    } catch (error) {
      // A server that answers nothing shows elsewhere, and says nothing of what it lacks.
      if (codeOf(error) === 'REGENT_SERVER_ERROR') throw error
    } finally {
      const pauseMs = this.#parts.guards.lacks.some(isForAgent) ? failedMs : lookMs
      this.#dueAtMs = this.#parts.world.clock.monotonicMs() + pauseMs
    }
  }

  async #lookAndSupply(): Promise<void> {
    const { notices } = this.#parts
    const lacking = await this.#lacking()
    this.#show(lacking)
    if (!lacking.some(isForAgent)) return
    try {
      await this.#supply()
    } catch (error) {
      notices.failed('NeedsLacking', say`${named(lacking.filter(isForAgent))} could not be put right`, error)
    }
    const left = await this.#lacking()
    this.#show(left)
    const stay = new Set(left.map(({ what }) => what))
    const supplied = lacking.filter(({ what }) => !stay.has(what))
    if (supplied.length === 0) return
    notices.add(
      'NeedsSupplied',
      say`${named(supplied)} ${supplied.length === 1 ? say`is as Regent needs it` : say`are as Regent needs them`} again (by another hand, or on a volume that is older)`,
    )
    if (supplied.some(({ what }) => String(what).startsWith('table '))) this.#beside.schemaIsNew()
  }

  async #lacking(): Promise<readonly Lack[]> {
    const { server, process } = this.#parts
    const ofServer = await server.lacks()
    this.#isServerLacking = ofServer.some(isForAgent)
    return [...ofServer, ...(await process.lacks())]
  }

  #show(lacks: readonly Lack[]): void {
    const { guards, changed } = this.#parts
    const isNews = named(guards.lacks) !== named(lacks)
    learn(this.#parts, { fact: 'lacksSeen', lacks })
    if (isNews) changed()
  }

  async #supply(): Promise<void> {
    const { server, process } = this.#parts
    await process.supply()
    if (!this.#isServerLacking) return
    const isOpen = this.#isOpenPrimary()
    await this.#beside.alone(() => this.#supplyHere({ schema: !isOpen }))
    if (isOpen && this.#isOpenPrimary()) await server.supplyEverywhere()
  }

  /**
   * `super_read_only` is off for a moment where nothing written meanwhile could be acknowledged; under a promise, and
   * at a primary that keeps itself closed, it stays on.
   */
  async #supplyHere(what: { readonly schema: boolean }): Promise<void> {
    const { observer, server, file, process } = this.#parts
    if (process.state !== 'running' || isPromised(file.current)) return
    const state = await observer.refresh()
    if (state.superReadOnly && state.semiSyncSource.enabled) return
    if (!state.superReadOnly) return server.supply(what)
    await letAccountsChange(this.#parts, () => server.supply(what))
  }

  #isOpenPrimary(): boolean {
    const { observer, file } = this.#parts
    const { server: state } = observer
    if (state === null || state.readOnly || state.superReadOnly || state.offlineMode) return false
    if (state.group !== undefined)
      return state.group.members.some(({ uuid, role }) => uuid === state.uuid && role === 'PRIMARY')
    return leads(file.current) && leadingOf(lifeOf(this.#parts))?.step === 'open'
  }
}

function isForAgent({ cure }: Lack): boolean {
  return String(cure) === String(agentPutsRight)
}

function named(lacks: readonly Lack[]): string {
  const some = lacks.slice(0, mostNamed).map(({ what }) => what)
  const more = lacks.length - some.length
  return more > 0 ? `${some.join(', ')} and ${counted(more, 'other')}` : some.join(' and ')
}

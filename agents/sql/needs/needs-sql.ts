import { say } from '#common/sentence/sentence.ts'
import type { Lack } from '#topology/snapshot/observation.ts'
import type { Need } from '#agents/needs/needs.ts'
import { agentPutsRight } from '#agents/ports/server.ts'
import type { Sql } from '../connections/statements.ts'
import { lackingOf, type Lacking } from './look.ts'
import type { Refusal } from './logins.ts'
import { supplyAccounts, supplySchema, supplySight } from './supply.ts'

interface NeedsPorts {
  readonly sql: Sql
  /** Runs a statement with the binary log on, however long its acknowledgement takes. */
  readonly logged: (statement: string) => Promise<unknown>
  /** Whether a row may be replicated as a statement: a replication group takes none. */
  readonly logsRows: boolean
  readonly refusedLogins: () => Promise<readonly Refusal[]>
  readonly secret: string
}

/** Changes of accounts that hang stand behind somebody's lock. */
const changeMs = 3_000

/** What this server lacks of what failovers rest upon, and putting that right. */
export class NeedsSql {
  readonly #needs: readonly Need[]
  readonly #ports: NeedsPorts
  #lacking: readonly Lacking[] = []

  constructor(needs: readonly Need[], ports: NeedsPorts) {
    this.#needs = needs
    this.#ports = ports
  }

  async lacks(): Promise<readonly Lack[]> {
    const [lacking, refused] = await Promise.all([lackingOf(this.#ports.sql, this.#needs), this.#ports.refusedLogins()])
    const known = new Set(lacking.map(({ need }) => need))
    const isRefused = (need: Need): boolean =>
      refused.some(({ what, isOfAccount }) => isOfAccount && what === String(need.what))
    const locked = this.#needs.filter((need) => !known.has(need) && isRefused(need))
    this.#lacking = [...lacking, ...locked.map((need) => ({ need, isMisshapen: false }))]
    return this.#lacking.map(({ need }) => ({
      what: need.what,
      for: need.for,
      cure: need.kind === 'plugin' ? say`the next start of its mysqld loads it again` : agentPutsRight,
    }))
  }

  async supply({ schema }: { readonly schema: boolean }): Promise<void> {
    const run = (statement: string) => this.#ports.sql.change(statement, changeMs)
    if (schema) await supplySchema(this.#lacking, run, run)
    await supplyAccounts(this.#lacking, run, this.#ports.secret)
    await supplySight(this.#lacking, run)
  }

  async supplyEverywhere(): Promise<void> {
    const { sql, logged, logsRows } = this.#ports
    await supplySchema(this.#lacking, logged, logsRows ? logged : (statement) => sql.change(statement, changeMs))
  }
}

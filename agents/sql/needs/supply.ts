import { accountsAnew, recordFingerprints, schemaStatements } from '#agents/instance/accounts.ts'
import type { AccountNeed, SightNeed } from '#agents/needs/needs.ts'
import { isTableMissing } from '../connections/failure.ts'
import type { Lacking } from './look.ts'

type Run = (statement: string) => Promise<unknown>

/**
 * Makes Regent's schema what it is to be. Each statement does nothing where that is so already, here and wherever it is
 * replicated to.
 *
 * @param run a definition @param fill a row that is there from the start
 */
export async function supplySchema(lacking: readonly Lacking[], run: Run, fill: Run): Promise<void> {
  if (!lacking.some(({ need }) => need.kind === 'table')) return
  for (const { need, isMisshapen } of lacking) if (isMisshapen) await run(`DROP TABLE IF EXISTS ${tableOf(need)}`)
  for (const statement of schemaStatements()) await (statement.startsWith('INSERT') ? fill : run)(statement)
}

function tableOf(need: Lacking['need']): string {
  return need.kind === 'table' ? `regent.${need.table}` : ''
}

/**
 * Makes accounts what they are to be. Account tables are read anew first: CREATE USER goes by what the server knows,
 * which need not be what is in them.
 */
export async function supplyAccounts(lacking: readonly Lacking[], run: Run, secret: string): Promise<void> {
  const accounts = lacking.map(({ need }) => need).filter((need): need is AccountNeed => need.kind === 'account')
  if (accounts.length === 0) return
  await run('FLUSH LOCAL PRIVILEGES')
  for (const alike of Map.groupBy(accounts, ({ grants }) => grants.join()).values()) {
    for (const statement of accountsAnew(alike, secret)) await run(statement)
    const others = alike.filter(({ host }) => host === '%').map(({ user }) => user)
    if (others.length > 0) await run(recordFingerprints(others)).catch(unlessTableIsMissing)
  }
}

/** An open primary makes accounts before tables: what a lack of acknowledgements holds up comes last. */
function unlessTableIsMissing(error: unknown): void {
  if (!isTableMissing(error)) throw error
}

/** Every server has its own, until its next start. Locks that were taken meanwhile stay unseen. */
export async function supplySight(lacking: readonly Lacking[], run: Run): Promise<void> {
  const needs = lacking.map(({ need }) => need).filter((need): need is SightNeed => need.kind === 'sight')
  for (const { table, pattern } of needs) for (const statement of switchesOn[table](pattern)) await run(statement)
}

const switchesOn: Readonly<Record<SightNeed['table'], (pattern: string) => readonly string[]>> = {
  setup_instruments: (pattern) => [
    `UPDATE performance_schema.setup_instruments SET ENABLED = 'YES', TIMED = 'YES' WHERE NAME LIKE '${pattern}'`,
  ],
  setup_consumers: (pattern) => [
    `UPDATE performance_schema.setup_consumers SET ENABLED = 'YES' WHERE NAME LIKE '${pattern}'`,
  ],
  // Sessions that are open were left out at their login.
  setup_actors: () => [
    "UPDATE performance_schema.setup_actors SET ENABLED = 'YES'",
    `INSERT INTO performance_schema.setup_actors SELECT '%', '%', '%', 'YES', 'YES' FROM DUAL
      WHERE NOT EXISTS (SELECT 1 FROM performance_schema.setup_actors WHERE (HOST, USER, ROLE) = ('%', '%', '%'))`,
    "UPDATE performance_schema.threads SET INSTRUMENTED = 'YES' WHERE TYPE = 'FOREGROUND'",
  ],
}

import { lastingColumns } from '#agents/instance/accounts.ts'
import type { AccountNeed, Need, SightNeed, TableNeed } from '#agents/needs/needs.ts'
import type { Row } from '../connections/statements.ts'
import { numberOf, textOf, type Sql } from '../connections/statements.ts'

/** The privileges in `mysql.user` that a need names. */
const userColumns = (needs: readonly Need[]): readonly string[] => [
  ...new Set(needs.flatMap((need) => (need.kind === 'account' ? need.columns : []))),
]

const tableColumns = `SELECT TABLE_NAME AS name, GROUP_CONCAT(COLUMN_NAME) AS columns FROM information_schema.COLUMNS
  WHERE TABLE_SCHEMA = 'regent' GROUP BY TABLE_NAME`
const pluginNames = "SELECT PLUGIN_NAME AS name FROM information_schema.PLUGINS WHERE PLUGIN_STATUS = 'ACTIVE'"
const grants = `SELECT USER AS user, HOST AS host, PRIV AS priv FROM mysql.global_grants WHERE USER LIKE 'regent%'`
/** What is switched off; a name is of one of the tables alone. Of actors it is the table’s own: some are not seen. */
const switchedOff = `SELECT NAME AS name FROM performance_schema.setup_instruments WHERE 'NO' IN (ENABLED, TIMED)
    AND (NAME IN ('transaction', 'wait/lock/metadata/sql/mdl') OR NAME LIKE 'statement/sql/%')
  UNION ALL SELECT NAME FROM performance_schema.setup_consumers WHERE ENABLED = 'NO'
  UNION ALL SELECT 'setup_actors' FROM DUAL
    WHERE EXISTS (SELECT 1 FROM performance_schema.setup_actors WHERE ENABLED = 'NO')
    OR NOT EXISTS (SELECT 1 FROM performance_schema.setup_actors WHERE (HOST, USER, ROLE) = ('%', '%', '%'))`
/** What keeps a login out that is right otherwise. */
const bounds = `CONCAT(account_locked, password_expired) AS bounds,
  ssl_type = '' AND max_connections + max_user_connections + max_questions + max_updates = 0 AS free,
  ${lastingColumns('')}`
const fingerprints = `SELECT u.user AS user, u.host AS host FROM mysql.user u JOIN regent.account f
  ON f.user = u.user AND f.fingerprint = SHA2(u.authentication_string, 256) WHERE u.user LIKE 'regent%'`

/** A need that is not there as it is to be. */
export interface Lacking {
  readonly need: Need
  /** There is a table of that name, and its columns are others. */
  readonly isMisshapen: boolean
}

/**
 * Which of these needs are not there as they are to be, by what the server's own tables say. Account tables are what
 * the next start goes by, whatever the server goes by now.
 */
export async function lackingOf(sql: Sql, needs: readonly Need[], deadlineMs?: number): Promise<readonly Lacking[]> {
  const columns = userColumns(needs).map((name) => `${name}_priv`)
  const users = `SELECT user, host, plugin, ${bounds}, ${columns.join(', ')} FROM mysql.user WHERE user LIKE 'regent%'`
  const [tables, accounts, granted, plugins, off] = await sql.readAll(
    [tableColumns, users, grants, pluginNames, switchedOff] as const,
    deadlineMs,
  )
  const found = new Map(tables.map((row) => [textOf(row, 'name'), textOf(row, 'columns').split(',')]))
  const isThere = ({ table, columns: wanted }: TableNeed): boolean =>
    wanted.every((column) => found.get(table)?.includes(column))
  const counts = await rowsIn(sql, needs.filter(isTable).filter(isThere), deadlineMs)
  // Without the table nobody can tell, and accounts are looked at again once it is there.
  const intact = found.has('account') ? await sql.read(fingerprints, deadlineMs) : accounts
  const lookup = { accounts, granted, intact }
  const active = new Set(plugins.map((row) => textOf(row, 'name')))
  const isLacking = (need: Need): boolean => {
    if (need.kind === 'plugin') return !active.has(need.name)
    if (need.kind === 'sight') return off.some((row) => isOf(need, textOf(row, 'name')))
    return need.kind === 'table'
      ? !isThere(need) || (counts.get(need.table) ?? 0) < need.rows
      : !isAccountRight(need, lookup)
  }
  return needs
    .filter(isLacking)
    .map((need) => ({ need, isMisshapen: isTable(need) && found.has(need.table) && !isThere(need) }))
}

function isOf({ pattern }: SightNeed, name: string): boolean {
  return pattern.endsWith('%') ? name.startsWith(pattern.slice(0, -1)) : name === pattern
}

function isTable(need: Need): need is TableNeed {
  return need.kind === 'table'
}

async function rowsIn(
  sql: Sql,
  tables: readonly TableNeed[],
  deadlineMs?: number,
): Promise<ReadonlyMap<string, number>> {
  if (tables.length === 0) return new Map()
  const counted = tables.map(({ table }) => `SELECT '${table}' AS name, COUNT(*) AS rowsThere FROM regent.${table}`)
  const rows = await sql.read(counted.join(' UNION ALL '), deadlineMs)
  return new Map(rows.map((row) => [textOf(row, 'name'), Number(textOf(row, 'rowsThere'))]))
}

interface Found {
  readonly accounts: readonly Row[]
  readonly granted: readonly Row[]
  readonly intact: readonly Row[]
}

/** Something will keep it out one day, or has to be satisfied first. */
function isBound(row: Row): boolean {
  return textOf(row, 'free') !== '1' || numberOf(row, 'lifetime') > 0 || numberOf(row, 'attempts') > 0
}

function isAccountRight(need: AccountNeed, { accounts, granted, intact }: Found): boolean {
  const isIts = (row: Row): boolean => textOf(row, 'user') === need.user && textOf(row, 'host') === need.host
  const row = accounts.find(isIts)
  if (row === undefined || textOf(row, 'plugin') !== 'caching_sha2_password' || isBound(row)) return false
  // A gate may be locked. A login tells of the agent's own password.
  const isGate = need.gateOf !== null
  const isFree = isGate ? textOf(row, 'bounds').endsWith('N') : textOf(row, 'bounds') === 'NN'
  const has = new Set(granted.filter(isIts).map((grant) => textOf(grant, 'priv')))
  return (
    isFree &&
    (!isGate || intact.some(isIts)) &&
    need.columns.every((column) => textOf(row, `${column}_priv`) === 'Y') &&
    need.grants.every((grant) => has.has(grant))
  )
}

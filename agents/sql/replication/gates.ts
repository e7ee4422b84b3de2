import { codeOf } from '#common/errors/errors.ts'
import type { InstanceName } from '#topology/snapshot/member.ts'
import {
  account,
  literal,
  recordFingerprints,
  replicationAccount,
  replicationPassword,
  schemaStatements,
} from '#agents/instance/accounts.ts'
import { replicationUser } from '#agents/ports/server.ts'
import { textOf, type Sql } from '../connections/statements.ts'
import { isTableMissing } from '../connections/failure.ts'
import { endReplicaSessions } from '../connections/dump-threads.ts'

/** Account changes that hang stand behind somebody's global lock. */
const gatesMs = 3_000

interface Gate {
  readonly locked: boolean
  /** Its password is the one that was derived: nobody changed it since. */
  readonly intact: boolean
}

/**
 * Makes the gates be open for these instances and closed for all others (docs/why/safety.md, "Who may acknowledge"):
 * closing is to lock the account, end its dump thread, and see it gone. Only what differs is changed, in as few
 * statements as possible: each is a transaction on disk, and this lies in the way of a promotion. An account that the
 * server does not let be put right (a component that judges passwords) keeps its replica out, and no primary closed:
 * `NeedsKeeper` tries again, and says why.
 */
export async function setGates(sql: Sql, secret: string, open: readonly InstanceName[]): Promise<void> {
  const gates = await readGatesAnywhere(sql)
  const wanted = new Map(open.map((instance) => [replicationUser(instance), instance]))
  const closing = [...gates].filter(([user, { locked }]) => !locked && !wanted.has(user)).map(([user]) => user)
  if (closing.length > 0)
    await change(sql, `ALTER USER ${closing.map((user) => account(user)).join(', ')} ACCOUNT LOCK`)
  await endReplicaSessions(sql, (user) => wanted.has(user))

  for (const [user, instance] of wanted)
    await makeAccountRight(sql, { user, instance, gate: gates.get(user), secret }).catch(unlessRefused)
  const opening = [...wanted.keys()].filter((user) => gates.get(user)?.locked)
  if (opening.length > 0)
    await change(sql, `ALTER USER ${opening.map((user) => account(user)).join(', ')} ACCOUNT UNLOCK`)
}

/**
 * Regent's schema may be gone, or be older than the table of fingerprints, without anybody having looked since: every
 * promotion and every reopening passes here.
 */
async function readGatesAnywhere(sql: Sql): Promise<ReadonlyMap<string, Gate>> {
  try {
    return await readGates(sql)
  } catch (error) {
    if (!isTableMissing(error)) throw error
    for (const statement of schemaStatements()) await change(sql, statement)
    return readGates(sql)
  }
}

async function readGates(sql: Sql): Promise<ReadonlyMap<string, Gate>> {
  const rows =
    await sql.read(String.raw`SELECT u.user AS user, u.account_locked AS locked, f.fingerprint <=> SHA2(u.authentication_string, 256) AS intact FROM mysql.user u
    LEFT JOIN regent.account f ON f.user = u.user WHERE u.user LIKE 'regent\_r\_%' AND u.host = '%'`)
  return new Map(
    rows.map((row) => [
      textOf(row, 'user'),
      { locked: textOf(row, 'locked') === 'Y', intact: textOf(row, 'intact') === '1' },
    ]),
  )
}

async function makeAccountRight(
  sql: Sql,
  { user, instance, gate, secret }: { user: string; instance: InstanceName; gate: Gate | undefined; secret: string },
): Promise<void> {
  if (gate?.intact) return
  const statements = gate
    ? [
        `ALTER USER ${account(user)} IDENTIFIED WITH caching_sha2_password BY ${literal(replicationPassword(secret, instance))}`,
      ]
    : replicationAccount(instance, secret)
  for (const statement of [...statements, recordFingerprints([user])]) await change(sql, statement)
}

function unlessRefused(error: unknown): void {
  if (codeOf(error) !== 'REGENT_SERVER_ERROR') throw error
}

async function change(sql: Sql, statement: string): Promise<void> {
  await sql.change(statement, gatesMs)
}

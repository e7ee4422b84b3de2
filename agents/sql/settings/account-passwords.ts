import type { PasswordsWish } from '#failover/protocol/order.ts'
import { passwordFor } from '#common/mysql/account-password.ts'
import type { AccountPassword } from '#topology/snapshot/observation.ts'
import { account, adminUser, clientUser, literal } from '#agents/instance/accounts.ts'
import type { Row } from '../connections/statements.ts'
import { textOf } from '../connections/statements.ts'

/**
 * Under this name an account itself says of which generation its password is (an attribute, MySQL ≥ 8.0.21): changed
 * with the password in one statement, replicated and copied with it. So nothing else has to remember how far a change
 * came, whoever died in it.
 */
const attribute = 'regentPasswords'

/** Columns of `mysql.user`, for `passwordIn`. */
export const passwordColumns = `User_attributes->>'$.metadata.${attribute}' AS generation, User_attributes->'$.additional_password' IS NOT NULL AS keepsOld`
export const isRotated = `user IN (${literal(clientUser)}, ${literal(adminUser)})`

export function passwordIn(row: Row): AccountPassword {
  return { user: textOf(row, 'user'), generation: textOf(row, 'generation'), keepsOld: textOf(row, 'keepsOld') === '1' }
}

/** An account that somebody dropped is not made again. */
export async function setPasswords(
  query: (statement: string) => Promise<readonly Row[]>,
  secret: string,
  { generation, old }: PasswordsWish,
): Promise<void> {
  const rows = await query(`SELECT user, ${passwordColumns} FROM mysql.user WHERE host = '%' AND ${isRotated}`)
  for (const { user, ...now } of rows.map(passwordIn)) {
    // Without a plugin's name: another one than the account has could not keep the old password.
    if (now.generation !== generation)
      await query(
        `ALTER USER ${account(user)} IDENTIFIED BY ${literal(passwordFor(secret, user, generation))} ` +
          `RETAIN CURRENT PASSWORD ATTRIBUTE ${literal(JSON.stringify({ [attribute]: generation }))}`,
      )
    else if (old === 'discarded' && now.keepsOld) await query(`ALTER USER ${account(user)} DISCARD OLD PASSWORD`)
  }
}

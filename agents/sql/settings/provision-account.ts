import { RegentError } from '#common/errors/errors.ts'
import { say, type Sayable } from '#common/sentence/sentence.ts'
import type { ProvisionTerms } from '#agents/ports/server.ts'
import { account, literal } from '#agents/instance/accounts.ts'
import type { Row } from '../connections/statements.ts'
import { textOf } from '../connections/statements.ts'

type Query = (statement: string, deadlineMs: number) => Promise<readonly Row[]>

/**
 * Runs account statements one after the other. The question before each opens the connection where there is none yet: a
 * login may take long, and between the look at the role and the statement nothing may. What a caller grants with ALL is
 * not power over Regent's own accounts and sessions: `SYSTEM_USER` is taken back. A rejection names the number of the
 * statement and of the server's error, and no text of either: a password may be in it.
 */
export async function provisionAccount(
  query: Query,
  name: string,
  statements: readonly string[],
  { mayGoOn, leftMs }: Pick<ProvisionTerms, 'mayGoOn'> & { readonly leftMs: () => number },
): Promise<void> {
  const holders = `SELECT USER AS user, HOST AS host FROM mysql.global_grants WHERE PRIV = 'SYSTEM_USER' AND USER = ${literal(name)}`
  const change = async (statement: string, what: Sayable): Promise<void> => {
    await query('SELECT 1', leftMs())
    if (!mayGoOn())
      throw new RegentError('REGENT_SERVER_ERROR', say`${what} was not run: this is not the open primary any more`)
    await query(statement, leftMs()).catch((error: unknown) => {
      throw withoutText(error, what)
    })
  }
  for (const [at, statement] of statements.entries())
    await change(statement, say`statement ${at + 1} of ${statements.length}`)
  for (const row of await query(holders, leftMs()))
    await change(
      `REVOKE SYSTEM_USER ON *.* FROM ${account(textOf(row, 'user'), textOf(row, 'host'))}`,
      say`taking SYSTEM_USER back`,
    )
}

function withoutText(error: unknown, what: Sayable): unknown {
  if (!(error instanceof RegentError)) return error
  const { cause } = error
  if (error.code === 'REGENT_SERVER_TIMEOUT')
    return new RegentError('REGENT_SERVER_TIMEOUT', say`${what} has no answer yet, and goes on waiting in the server`)
  const { errno, code } = (cause ?? {}) as { readonly errno?: number; readonly code?: string }
  const number = errno === undefined ? '' : say` ${errno}`
  return new RegentError(error.code, say`${what}: the server’s error${number} ${code ?? error.code}`, {
    cause,
  })
}

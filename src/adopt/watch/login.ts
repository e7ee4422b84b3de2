import { readFile } from 'node:fs/promises'
import { readPassword, type AdoptedHost } from '../adoption.ts'
import type { Login } from '../servers/session.ts'

/** Read at each login: a password that was changed is taken at the next one. */
export async function loginOf({ mysql }: AdoptedHost): Promise<Login> {
  return {
    user: mysql.user,
    password: await readPassword(mysql.passwordFile),
    ca: mysql.caFile === undefined ? undefined : await readFile(mysql.caFile, 'utf8'),
  }
}

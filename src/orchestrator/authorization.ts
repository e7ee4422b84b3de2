import { carriesToken, isSameSecret, readTokenFile } from '#common/http/bearer-token.ts'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'

/** Credentials of a caller: a name and password of HTTP, or the token of the API. */
export interface Credentials {
  /** `user:password` */
  readonly login: string
  readonly token: string
}

/** `user:password` in a file that only its owner may read. Throws `REGENT_BAD_FILE`. */
export async function readLogin(path: string): Promise<string> {
  const login = await readTokenFile(path)
  if (!/^[^:]+:.+$/.test(login))
    throw new RegentError('REGENT_BAD_FILE', say`${path} holds no login; allowed is user:password, on one line`)
  return login
}

/** Whether an `Authorization` header carries one of these. Everybody may ask where there are none. */
export function mayAsk(authorization: string | undefined, credentials: Credentials | undefined): boolean {
  if (credentials === undefined) return true
  return carriesToken(authorization, credentials.token) || isSameSecret(decoded(authorization), credentials.login)
}

/** The name that somebody gives; '' for none. */
export function userIn(authorization: string | undefined): string {
  return decoded(authorization).split(':', 1)[0] ?? ''
}

function decoded(authorization: string | undefined): string {
  const [, text = ''] = /^Basic +([A-Za-z0-9+/=]+) *$/i.exec(authorization ?? '') ?? []
  return Buffer.from(text, 'base64').toString('utf8')
}

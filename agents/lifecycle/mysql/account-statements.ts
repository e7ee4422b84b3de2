import { RegentError } from '#common/errors/errors.ts'
import { say, type Sentence } from '#common/sentence/sentence.ts'

/** The account that is to be made, and by which statements. */
export interface AccountWish {
  readonly name: string
  readonly password: string
  /** SQL: statements with `;` between them, `${KB_ACCOUNT_NAME}` and `${KB_ACCOUNT_PASSWORD}` to be filled in. */
  readonly statement: string
}

/** What may be done about accounts. Anything else is no account's business. */
const allowed: readonly RegExp[] = [
  /^(CREATE|ALTER|DROP) USER\b/i,
  /^(CREATE|DROP) ROLE\b/i,
  /^(GRANT|REVOKE)\b/i,
  /^SET DEFAULT ROLE\b/i,
  /^FLUSH PRIVILEGES$/i,
]
const mostCharacters = 65_536
const mostStatements = 64
/** Regent's own accounts and schema: whoever changes these locks the agent, or a replica, out. */
const own = /^(regent|regent_group|regent_r_\d+)$/i

/** A quoted text, a placeholder, a word, white space, or one other character. */
const tokens = /'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|\$\{\w+\}|\$\w+|\w+|\s+|[^]/g

/**
 * The statements one by one, ready to be run. Throws `REGENT_BAD_REQUEST` for a statement that is not about accounts,
 * or is about Regent's own accounts or about whoever runs the statements. Neither password nor statement is a part of
 * the message. Backslashes are refused: their meaning depends on `sql_mode`.
 */
export function accountStatements(wish: AccountWish): readonly string[] {
  const { statement, name, password } = wish
  if (name === '' || statement.trim() === '') throw bad(say`KB_ACCOUNT_NAME and KB_ACCOUNT_STATEMENT are needed`)
  if (statement.length > mostCharacters) throw bad(say`KB_ACCOUNT_STATEMENT has more than ${mostCharacters} characters`)
  refuseStrange({
    KB_ACCOUNT_NAME: name,
    KB_ACCOUNT_PASSWORD: password,
    KB_ACCOUNT_STATEMENT: statement.replace(/\s/g, ' '),
  })
  if (own.test(name)) throw bad(say`KB_ACCOUNT_NAME is ${name}, which is an account of Regent`)
  const statements = split(statement.match(tokens) ?? [])
  if (statements.length > mostStatements)
    throw bad(say`KB_ACCOUNT_STATEMENT has more than ${mostStatements} statements`)
  return statements.map((one, at) => {
    const why = complaintAbout(one)
    if (why !== undefined) throw bad(say`statement ${at + 1} of ${statements.length} ${why}`)
    return one.map((token) => filled(token, wish)).join('')
  })
}

function bad(what: Sentence): RegentError {
  return new RegentError('REGENT_BAD_REQUEST', what)
}

function refuseStrange(texts: Readonly<Record<string, string>>): void {
  for (const [parameter, text] of Object.entries(texts))
    if (/[\x00-\x1f\x7f\\]/.test(text)) throw bad(say`${parameter} has a backslash or a control character`)
}

/** By `;` outside of quotes. Empty statements are dropped. */
function split(all: readonly string[]): readonly (readonly string[])[] {
  const statements: string[][] = [[]]
  for (const token of all)
    if (token === ';') statements.push([])
    else statements.at(-1)?.push(/^\s+$/.test(token) ? ' ' : token)
  return statements.map(trimmed).filter((one) => one.length > 0)
}

function trimmed(statement: readonly string[]): readonly string[] {
  return statement.filter((token, at) => token !== ' ' || (at > 0 && at < statement.length - 1))
}

/** Why a statement is refused, undefined where nothing speaks against the statement. */
function complaintAbout(statement: readonly string[]): Sentence | undefined {
  const text = statement.join('')
  if (!allowed.some((pattern) => pattern.test(text)))
    return say`is not about accounts: allowed are CREATE, ALTER and DROP USER, CREATE and DROP ROLE, GRANT, REVOKE, SET DEFAULT ROLE and FLUSH PRIVILEGES`
  const bare = statement.filter((token) => !isQuoted(token))
  if (/--|#|\/\*/.test(bare.join(''))) return say`has a comment`
  if (bare.some((token) => /^['"`]$/.test(token))) return say`has a quote without its end`
  // `CURRENT_USER` and `USER()` are whoever runs the statement: the agent.
  if (/\bCURRENT_USER\b|\bUSER ?\(/i.test(bare.join(''))) return say`is about the account that runs the statement`
  return statement.some((token) => own.test(plain(token)))
    ? say`is about an account or the schema of Regent`
    : undefined
}

function isQuoted(token: string): boolean {
  return token.length > 1 && /^['"`]/.test(token)
}

function plain(token: string): string {
  return isQuoted(token) ? token.slice(1, -1) : token
}

/** A token with name and password in the place of placeholders, quoted as their surroundings are. */
function filled(token: string, wish: AccountWish): string {
  if (!isQuoted(token)) return token.startsWith('$') ? bareValue(valueOf(token, wish)) : token
  const quote = token.slice(0, 1)
  return token.replace(/\$\{\w+\}|\$KB_ACCOUNT_\w+/g, (placeholder) =>
    valueOf(placeholder, wish).replaceAll(quote, quote + quote),
  )
}

function valueOf(placeholder: string, { name, password }: AccountWish): string {
  const variable = placeholder.replace(/^\$\{?|\}$/g, '')
  if (variable === 'KB_ACCOUNT_NAME') return name
  if (variable === 'KB_ACCOUNT_PASSWORD') return password
  throw bad(say`KB_ACCOUNT_STATEMENT names ${placeholder}; known are KB_ACCOUNT_NAME and KB_ACCOUNT_PASSWORD`)
}

function bareValue(value: string): string {
  if (!/^\w+$/.test(value)) throw bad(say`a placeholder of KB_ACCOUNT_STATEMENT stands outside of quotes`)
  return value
}

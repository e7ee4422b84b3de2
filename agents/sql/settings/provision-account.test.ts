import { expect, it } from 'vitest'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { provisionAccount } from './provision-account.ts'

const create = "CREATE USER 'a' IDENTIFIED BY 'secret'"
const terms = { mayGoOn: () => true, leftMs: () => 100 }

/** Notes statements, and answers as `answer` says. */
function aServer(answer: (statement: string) => readonly Record<string, unknown>[] = () => []) {
  const said: string[] = []
  const query = async (statement: string) => {
    said.push(statement)
    return answer(statement)
  }
  return { said, query }
}

const isQuestion = (statement: string): boolean => statement.startsWith('SELECT USER')

it('Statements run in their order, and the account is given no power over Regent’s accounts', async () => {
  const { said, query } = aServer((statement) => (isQuestion(statement) ? [{ user: 'a', host: '%' }] : []))
  await provisionAccount(query, 'a', [create, "GRANT ALL ON *.* TO 'a'"], terms)
  expect(said.filter((statement) => !statement.startsWith('SELECT'))).toEqual([
    create,
    "GRANT ALL ON *.* TO 'a'",
    "REVOKE SYSTEM_USER ON *.* FROM 'a'@'%'",
  ])
})

it('A server that is the open primary no more is given nothing', async () => {
  const { said, query } = aServer()
  await expect(provisionAccount(query, 'a', [create], { ...terms, mayGoOn: () => false })).rejects.toMatchObject({
    code: 'REGENT_SERVER_ERROR',
    message: 'statement 1 of 1 was not run: this is not the open primary any more',
  })
  expect(said).toEqual(['SELECT 1'])
})

it.each([
  [
    'REGENT_SERVER_ERROR',
    { errno: 1396, code: 'ER_CANNOT_USER' },
    'statement 1 of 1: the server’s error 1396 ER_CANNOT_USER',
  ],
  ['REGENT_SERVER_DOWN', undefined, 'statement 1 of 1: the server’s error REGENT_SERVER_DOWN'],
  ['REGENT_SERVER_TIMEOUT', undefined, 'statement 1 of 1 has no answer yet, and goes on waiting in the server'],
] as const)('A failure (%s) is told without the statement', async (code, cause, message) => {
  const { query } = aServer((statement) => {
    if (statement === create) throw new RegentError(code, say`near ${create}`, { cause })
    return []
  })
  await expect(provisionAccount(query, 'a', [create], terms)).rejects.toMatchObject({ code, message })
})

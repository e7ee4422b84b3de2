import { describe, expect, it } from 'vitest'
import { brief, describeFailure, errnoOf, isTransport } from './failure.ts'

const refused = (message: string, errno = 1064) =>
  Object.assign(new Error(message), { errno, sqlState: '42000', code: 'ER_PARSE_ERROR', sql: 'all of it' })

describe('a failed statement', () => {
  it('is told from a failed connection', () => {
    expect(isTransport(refused('no'))).toBe(false)
    expect(isTransport(Object.assign(new Error('gone'), { code: 'ECONNRESET' }))).toBe(true)
    expect(isTransport(refused('Server shutdown in progress', 1053))).toBe(true)
    expect(describeFailure('SELECT 1', Object.assign(new Error('gone'), { code: 'ECONNRESET' }))).toMatchObject({
      code: 'REGENT_SERVER_DOWN',
      message: 'SELECT 1: ECONNRESET',
    })
  })

  it('keeps the server’s words and number, and no password', () => {
    const statement = "CHANGE REPLICATION SOURCE TO SOURCE_PASSWORD = 'hunter2hunter2', SOURCE_X = 1"
    const error = describeFailure(statement, refused("You have an error near ''hunter2hunter2', SOURCE_X = 1'"))
    expect(error).toMatchObject({ code: 'REGENT_SERVER_ERROR' })
    expect(errnoOf(error)).toBe(1064)
    expect(error.message).toContain('You have an error near')
    expect(JSON.stringify([error, error.message, error.stack, error.cause])).not.toMatch(/hunter2|all of it/)
  })

  it('is named by its first words without literals', () => {
    expect(brief("CREATE USER 'a'@'%' IDENTIFIED\n BY 'it''s'")).toBe('CREATE USER …@… IDENTIFIED BY …')
    expect(brief(`SELECT ${'x'.repeat(200)}`)).toHaveLength(98)
  })
})

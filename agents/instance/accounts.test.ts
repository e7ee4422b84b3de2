import { describe, expect, it } from 'vitest'
import { passwordFor } from '#common/mysql/account-password.ts'
import { mostInstances } from '#topology/snapshot/member.ts'
import { account, identifier, initialStatements, literal, replicationAccount, restoredStatements } from './accounts.ts'

describe('accounts', () => {
  const statements = initialStatements('shop', 'top secret', 'semisync')

  it('lays down the same accounts on every instance, one statement a line, without binary log', () => {
    expect(initialStatements('shop', 'top secret', 'semisync')).toEqual(statements)
    expect(statements[0]).toMatch(/^SET NAMES .*, sql_log_bin = 0$/)
    expect(statements.every((statement) => !statement.includes('\n') && !statement.includes(';'))).toBe(true)
  })

  it('gives every account a password derived from the secret, and never the secret itself', () => {
    const created = statements.filter((statement) => statement.startsWith('CREATE USER'))
    expect(created).toHaveLength(4 + mostInstances)
    for (const statement of created) {
      const user = /'([^']+)'@/.exec(statement)?.[1] ?? ''
      expect(statement).toContain(`BY '${passwordFor('top secret', user)}'`)
    }
    expect(statements.join()).not.toContain('top secret')
  })

  it('leaves no account without a password', () => {
    expect(statements.at(-1)).toBe("DROP USER 'root'@'localhost'")
  })

  it('gives a replication account the right to replicate, to clone and to come in while offline, and nothing else', () => {
    const grants = replicationAccount('shop-1', 's').filter((statement) => statement.startsWith('GRANT'))
    expect(grants).toEqual([
      "GRANT REPLICATION SLAVE ON *.* TO 'regent_r_1'@'%'",
      "GRANT CONNECTION_ADMIN, BACKUP_ADMIN ON *.* TO 'regent_r_1'@'%'",
    ])
  })

  it('gives the account of a group no right to copy: a member that copied itself in place would have nothing if that died half-way', () => {
    const grants = initialStatements('shop', 's', 'group').filter((statement) =>
      statement.includes("TO 'regent_group'"),
    )
    expect(grants).toEqual([
      "GRANT REPLICATION SLAVE ON *.* TO 'regent_group'@'%'",
      "GRANT CONNECTION_ADMIN, GROUP_REPLICATION_STREAM ON *.* TO 'regent_group'@'%'",
    ])
  })

  it('gives no two instances the same replication account, however long their names', () => {
    const names = Array.from({ length: 20 }, (_, ordinal) => `${'x'.repeat(60)}-${ordinal}`)
    const users = names.map((name) => /'([^']+)'/.exec(replicationAccount(name, 's')[0] ?? '')?.[1] ?? '')
    expect(new Set(users).size).toBe(20)
    expect(Math.max(...users.map((user) => user.length))).toBeLessThanOrEqual(32)
  })

  it('protects Regent’s own accounts from the people’s account', () => {
    expect(statements).toContain("REVOKE SYSTEM_USER ON *.* FROM 'admin'@'%'")
  })

  it('quotes names and texts', () => {
    expect(literal("it's")).toBe("'it''s'")
    expect(identifier('a`b')).toBe('`a``b`')
    expect(account("o'x", '%')).toBe("'o''x'@'%'")
    for (const text of ['a\\', 'a\nb', 'a\0']) expect(() => literal(text)).toThrow(TypeError)
    // Accounts of others have any name: that of a Windows domain, `CORP\ann`. Between backticks nothing is escaped.
    expect(account('CORP\\ann', '10.0.0.%')).toBe("`CORP\\ann`@'10.0.0.%'")
    expect(account('a`\nb')).toBe("`a``\nb`@'%'")
  })
})

it('Data out of a backup keep what is recorded of disabled events: each of these would run otherwise', () => {
  const statements = restoredStatements('shop', 'top secret', 'semisync').join('\n')
  expect(statements).not.toContain('DROP DATABASE')
  expect(statements).not.toContain('disabled_event')
  for (const table of ['marker', 'probe', 'account'])
    expect(statements).toContain(`DROP TABLE IF EXISTS \`regent\`.${table}`)
})

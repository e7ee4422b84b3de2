import { describe, expect, it } from 'vitest'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import type { Row } from '../connections/statements.ts'
import { GroupAccount, groupAccountStatements } from './group-account.ts'

const whole: Row = {
  print: 'caching_sha2_password  aa',
  locked: 'N',
  expired: 'N',
  replicates: 'Y',
  limits: '0',
  grants: 'CONNECTION_ADMIN,GROUP_REPLICATION_STREAM',
}
const refused = (errno: number) => new RegentError('REGENT_SERVER_ERROR', say`no`, { cause: { errno } })

/** The account on a server that answers logins so, and how often it was tried. */
function accountWith(...answers: readonly (Error | null)[]) {
  let tries = 0
  const account = new GroupAccount(async () => {
    const answer = answers[Math.min(tries, answers.length - 1)] ?? null
    tries += 1
    if (answer !== null) throw answer
  })
  return { account, tries: () => tries }
}

describe('The account of the group', () => {
  it('is tried once for what is stored, and again once that is something else', async () => {
    const { account, tries } = accountWith(null, refused(1045))
    expect([await account.trouble(whole), await account.trouble(whole), tries()]).toEqual(['', '', 1])
    const changed = { ...whole, print: 'caching_sha2_password  bb' }
    const trouble = 'lets no member in with the password of this cluster'
    expect([await account.trouble(changed), await account.trouble(changed), tries()]).toEqual([trouble, trouble, 2])
    expect([await account.trouble(whole), tries()]).toEqual([trouble, 3])
  })

  it('is asked again where the server is full or does not answer: that tells nothing', async () => {
    const { account, tries } = accountWith(
      refused(1040),
      new RegentError('REGENT_SERVER_DOWN', say`gone`),
      refused(1045),
    )
    expect([await account.trouble(whole), await account.trouble(whole)]).toEqual(['', ''])
    expect(await account.trouble(whole)).toContain('lets no member in')
    expect(tries()).toBe(3)
  })

  it('that this agent has just set is not tried: another account may hide it from this machine', async () => {
    const { account, tries } = accountWith(refused(1045))
    account.isRight(whole)
    expect([await account.trouble(whole), tries()]).toEqual(['', 0])
  })

  it.each<[string, Row | undefined]>([
    ['is not there', undefined],
    ['is locked', { ...whole, locked: 'Y' }],
    ['has a password that has expired', { ...whole, expired: 'Y' }],
    ['has a password that will expire', { ...whole, lifetime: 90 }],
    ['is locked by wrong passwords', { ...whole, attempts: '3' }],
    ['is allowed only so many connections or statements', { ...whole, limits: '1' }],
    ['lacks GROUP_REPLICATION_STREAM', { ...whole, grants: 'CONNECTION_ADMIN' }],
    [
      'lacks CONNECTION_ADMIN, GROUP_REPLICATION_STREAM, REPLICATION SLAVE',
      { ...whole, grants: null, replicates: 'N' },
    ],
    ['has BACKUP_ADMIN as well', { ...whole, grants: 'BACKUP_ADMIN,CONNECTION_ADMIN,GROUP_REPLICATION_STREAM' }],
  ])('%s', async (trouble, row) => {
    const { account, tries } = accountWith(null)
    expect([await account.trouble(row), tries()]).toEqual([trouble, 0])
  })

  it('is made whole whatever was made of it, with no right more than it needs', () => {
    const [create, alter, revoke, ...grants] = groupAccountStatements("it's")
    expect(create).toContain('CREATE USER IF NOT EXISTS')
    for (const part of [
      "BY 'it''s'",
      'REQUIRE NONE',
      'MAX_USER_CONNECTIONS 0',
      'ACCOUNT UNLOCK',
      'PASSWORD EXPIRE NEVER',
    ])
      expect(alter).toContain(part)
    expect(revoke).toMatch(/^REVOKE ALL PRIVILEGES/)
    expect(grants.join()).not.toContain('BACKUP_ADMIN')
  })
})

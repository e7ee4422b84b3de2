import { describe, expect, it } from 'vitest'
import { endBlocker, readBlockers } from './blockers.ts'
import type { Sql } from './statements.ts'

const person = {
  id: 12,
  user: 'ann',
  host: '10.0.0.7',
  seconds: 4,
  behind: 'ALTER USER',
  commits: 0,
  name: '.',
  waits: 0,
}

function shown(locks: readonly object[], rows: readonly object[] = []): Pick<Sql, 'readAll'> {
  return { readAll: async () => [locks, rows] as never }
}

const found = async (lock: object) => readBlockers(shown([{ ...person, ...lock }]) as Sql)

describe('who stands in the way of a statement', () => {
  it.each([
    [
      'a global read lock of others',
      { type: 'GLOBAL', lockType: 'SHARED', wanted: 'INTENTION_EXCLUSIVE' },
      'the global read lock',
    ],
    [
      'one that they only wait for',
      { type: 'GLOBAL', lockType: 'SHARED', wanted: 'INTENTION_EXCLUSIVE', waits: 1 },
      'the global read lock',
    ],
    [
      'the second part of one',
      { type: 'COMMIT', lockType: 'SHARED', wanted: 'INTENTION_EXCLUSIVE' },
      'the global read lock',
    ],
    ['a backup lock', { type: 'BACKUP LOCK', lockType: 'SHARED', wanted: 'INTENTION_EXCLUSIVE' }, 'the backup lock'],
    [
      'a change of an account',
      { type: 'ACL CACHE', lockType: 'EXCLUSIVE', wanted: 'SHARED' },
      'the lock of all accounts, by changing one',
    ],
    [
      'DDL on a table of accounts',
      { type: 'TABLE', name: 'mysql.user', lockType: 'EXCLUSIVE', wanted: 'SHARED_READ' },
      'a lock on mysql.user',
    ],
    [
      'a table that is locked to be written to',
      { type: 'TABLE', name: 'mysql.user', lockType: 'SHARED_NO_READ_WRITE', wanted: 'SHARED_WRITE' },
      'a lock on mysql.user',
    ],
    [
      'any lock against DDL of ours',
      { type: 'TABLE', name: 'mysql.user', lockType: 'SHARED_READ', wanted: 'EXCLUSIVE' },
      'a lock on mysql.user',
    ],
  ])('is found behind %s', async (_, lock, words) => {
    expect(await found(lock)).toMatchObject([
      { session: 12, user: 'ann', lock: words, waits: 'waits' in lock, behind: 'ALTER USER' },
    ])
  })

  it('is nobody whose lock goes together with what is wanted', async () => {
    expect(await found({ type: 'TABLE', name: 'mysql.user', lockType: 'SHARED_READ', wanted: 'SHARED_READ' })).toEqual(
      [],
    )
    expect(await found({ type: 'GLOBAL', lockType: 'INTENTION_EXCLUSIVE', wanted: 'INTENTION_EXCLUSIVE' })).toEqual([])
  })

  it('is who holds rows that the agent writes, and each session is told once', async () => {
    const row = { ...person, type: 'ROW', name: '', lockType: 'EXCLUSIVE', wanted: 'EXCLUSIVE' }
    const lock = { ...person, type: 'GLOBAL', lockType: 'SHARED', wanted: 'INTENTION_EXCLUSIVE' }
    expect(await readBlockers(shown([lock, lock], [row]) as Sql)).toMatchObject([
      { lock: 'rows that the agent writes' },
    ])
  })

  it('may begin to commit, unless it only keeps others from it', async () => {
    expect(await found({ type: 'GLOBAL', lockType: 'SHARED', wanted: 'INTENTION_EXCLUSIVE' })).toMatchObject([
      { mayCommit: false, commits: false },
    ])
    expect(
      await found({ type: 'BACKUP LOCK', lockType: 'SHARED', wanted: 'INTENTION_EXCLUSIVE', commits: 1 }),
    ).toMatchObject([{ mayCommit: true, commits: true }])
  })
})

it('What waits is ended by its statement, and what holds by its session', async () => {
  const killed: string[] = []
  const sql = { change: async (statement: string) => (killed.push(statement), []) } as unknown as Sql
  const [blocker] = await found({ type: 'GLOBAL', lockType: 'SHARED', wanted: 'INTENTION_EXCLUSIVE' })
  if (blocker === undefined) throw new Error('nobody was found')
  await endBlocker(sql, blocker)
  await endBlocker(sql, { ...blocker, waits: true })
  expect(killed).toEqual(['KILL CONNECTION 12', 'KILL QUERY 12'])
})

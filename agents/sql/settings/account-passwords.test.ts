import { describe, expect, it } from 'vitest'
import { passwordFor } from '#common/mysql/account-password.ts'
import { setPasswords } from './account-passwords.ts'

interface Account {
  readonly user: string
  readonly generation: string | null
  readonly keepsOld: number
}

/** MySQL's side of it, which loses its agent after so many changes. */
function mysql(accounts: readonly Account[], changesUntilDeath = Infinity) {
  const statements: string[] = []
  let rows = accounts
  const query = async (statement: string) => {
    if (statement.startsWith('SELECT')) return rows.map((row) => ({ ...row }))
    if (statements.length >= changesUntilDeath) throw new Error('the agent died')
    statements.push(statement)
    const user = /^ALTER USER '(\w+)'@'%'/.exec(statement)?.[1]
    const generation = /"regentPasswords":"(\w*)"/.exec(statement)?.[1]
    rows = rows.map((row) =>
      row.user !== user
        ? row
        : statement.endsWith('DISCARD OLD PASSWORD')
          ? { ...row, keepsOld: 0 }
          : { user, generation: generation ?? null, keepsOld: 1 },
    )
    return []
  }
  return { query, statements, accounts: () => rows, liveOn: () => void (changesUntilDeath = Infinity) }
}

const fresh: readonly Account[] = [
  { user: 'admin', generation: null, keepsOld: 0 },
  { user: 'client', generation: null, keepsOld: 0 },
]
const rotated: readonly Account[] = fresh.map(({ user }) => ({ user, generation: 'a2', keepsOld: 1 }))

describe('passwords', () => {
  it('are changed with what says which they are in one statement, and the old ones are accepted too', async () => {
    const server = mysql(fresh)
    await setPasswords(server.query, 'secret', { generation: 'a2', old: 'kept' })
    expect(server.statements[1]).toBe(
      `ALTER USER 'client'@'%' IDENTIFIED BY '${passwordFor('secret', 'client', 'a2')}' RETAIN CURRENT PASSWORD ATTRIBUTE '{"regentPasswords":"a2"}'`,
    )
    expect(server.accounts()).toEqual(rotated)
  })

  it('are not changed where they are right: that would drop the old ones', async () => {
    const server = mysql(rotated)
    await setPasswords(server.query, 'secret', { generation: 'a2', old: 'kept' })
    expect(server.statements).toEqual([])
  })

  it('of before end when that is asked for', async () => {
    const server = mysql(rotated)
    await setPasswords(server.query, 'secret', { generation: 'a2', old: 'discarded' })
    expect(server.statements).toEqual([
      "ALTER USER 'admin'@'%' DISCARD OLD PASSWORD",
      "ALTER USER 'client'@'%' DISCARD OLD PASSWORD",
    ])
    await setPasswords(server.query, 'secret', { generation: 'a2', old: 'discarded' })
    expect(server.statements).toHaveLength(2)
  })

  it('come back as the first ones', async () => {
    const server = mysql(rotated)
    await setPasswords(server.query, 'secret', { generation: '', old: 'kept' })
    expect(server.statements[1]).toContain(passwordFor('secret', 'client'))
  })

  it('of an account that somebody dropped make it not again', async () => {
    const server = mysql(fresh.slice(0, 1))
    await setPasswords(server.query, 'secret', { generation: 'a2', old: 'kept' })
    expect(server.statements).toHaveLength(1)
  })

  it.each([
    ['kept', fresh],
    ['discarded', rotated],
  ] as const)(
    'are carried on after a death between any two statements (the old ones %s), none of them twice',
    async (old, before) => {
      for (const changes of [0, 1]) {
        const server = mysql(before, changes)
        await expect(setPasswords(server.query, 'secret', { generation: 'a2', old })).rejects.toThrow('the agent died')
        server.liveOn()
        await setPasswords(server.query, 'secret', { generation: 'a2', old })
        expect(server.statements).toHaveLength(2)
      }
    },
  )
})

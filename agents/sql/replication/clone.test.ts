import { expect, it } from 'vitest'
import { RegentError } from '#common/errors/errors.ts'
import { realClock } from '#common/ports/real-world.ts'
import { describeFailure } from '../connections/failure.ts'
import type { Sql } from '../connections/statements.ts'
import { cloneLocal } from './clone.ts'

/** What a copy of a server says that fails with this error of MySQL. */
async function failureOf(errno: number, message: string): Promise<RegentError> {
  const sql = { read: async () => [], until: async (isDone: () => Promise<boolean>) => isDone() } as Partial<Sql>
  const long = async (statement: string) => {
    throw describeFailure(statement, Object.assign(new Error(message), { errno, sqlState: '70100' }))
  }
  const request = { directory: '/volume/data.stream', progress: () => undefined, signal: new AbortController().signal }
  return cloneLocal({ sql: sql as Sql, long, clock: realClock }, request).then(
    () => Promise.reject(new Error('the copy was made')),
    (error: RegentError) => error,
  )
}

it('A copy that mysqld refuses since its disk was full says what is to be done', async () => {
  expect((await failureOf(1317, 'Query execution was interrupted')).message).toBe(
    'CLONE LOCAL DATA DIRECTORY = …: Query execution was interrupted (1317); it was killed by hand, or the disk was full during an earlier copy: then mysqld gives no copy any more until mysqld is started again; copy another instance, or restart this one',
  )
})

it('A copy beside another one is refused as busy', async () => {
  expect(await failureOf(3634, 'Too many concurrent clone operations')).toMatchObject({ code: 'REGENT_BUSY' })
})

it('Another failure is told as it is', async () => {
  expect((await failureOf(1026, 'Error writing file')).message).toBe(
    'CLONE LOCAL DATA DIRECTORY = …: Error writing file (1026)',
  )
})

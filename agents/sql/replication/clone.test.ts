import { expect, it } from 'vitest'
import { RegentError } from '#common/errors/errors.ts'
import { realClock } from '#common/ports/real-world.ts'
import { describeFailure } from '../connections/failure.ts'
import type { Sql } from '../connections/statements.ts'
import { cloneInto, cloneLocal } from './clone.ts'

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

/** What is changed here for a copy that MySQL refuses with each of these words in turn; the last one stays. */
async function changesFor(...refusals: readonly string[]): Promise<{ changes: string[]; failure: string }> {
  const changes: string[] = []
  const left = [...refusals]
  const sql: Partial<Sql> = {
    read: async () => [],
    until: async (isDone) => isDone(),
    change: async (statement) => {
      changes.push(statement)
      return []
    },
  }
  const long = async (statement: string) => {
    const message = left.length > 1 ? left.shift() : left[0]
    if (message === undefined) return
    throw describeFailure(statement, Object.assign(new Error(message), { errno: 3868, sqlState: 'HY000' }))
  }
  const donor = { host: '10.0.0.1', port: 3306, user: 'repl', password: 'secret' }
  const request = { directory: '/volume/data.seed', donor, encrypts: false, progress: () => undefined }
  const failure = await cloneInto({ sql: sql as Sql, long, clock: realClock }, request).then(
    () => '',
    (error: RegentError) => error.message,
  )
  return { changes: changes.slice(1), failure }
}

const differs = (setting: string, value: string) =>
  `Clone Configuration ${setting}: Donor value: ${value} is different from Recipient value: utf8mb4.`

it('Settings that CLONE wants to be the same on both are made the donor’s, each of them once', async () => {
  const { changes, failure } = await changesFor(
    differs('character_set_server', 'latin1'),
    differs('character_set_filesystem', 'latin1'),
    differs('collation_server', 'latin1_german2_ci'),
    differs('collation_server', 'latin1_german2_ci'),
  )
  expect(changes).toEqual([
    'SET GLOBAL character_set_server = latin1',
    'SET GLOBAL character_set_filesystem = latin1',
    'SET GLOBAL collation_server = latin1_german2_ci',
  ])
  expect(failure).toContain('Donor value: latin1_german2_ci is different')
})

it.each([differs('innodb_page_size', '4096'), differs('collation_server', 'latin1; DROP')])(
  'Nothing is changed for %s',
  async (refusal) => {
    const { changes, failure } = await changesFor(refusal)
    expect(changes).toEqual([])
    expect(failure).toContain('is different from Recipient value')
  },
)

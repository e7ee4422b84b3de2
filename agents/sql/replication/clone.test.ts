import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Server } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, expect, it, onTestFinished } from 'vitest'
import { RegentError } from '#common/errors/errors.ts'
import { realClock } from '#common/ports/real-world.ts'
import { describeFailure } from '../connections/failure.ts'
import type { Sql } from '../connections/statements.ts'
import { cloneInto, cloneLocal, cloneOver, requireCopied } from './clone.ts'

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
    'CLONE LOCAL DATA DIRECTORY = …: Query execution was interrupted (1317); it was killed by hand, or the disk was full during an earlier copy: mysqld gives none until it is started again; copy another instance, or restart this one',
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

it('A copy that is given up while its donor is named is not begun: it would go on for hours', async () => {
  const gaveUp = new AbortController()
  const sql: Partial<Sql> = {
    read: async () => [],
    until: async (isDone) => isDone(),
    async change() {
      gaveUp.abort(new Error('its donor leads by now'))
      return []
    },
  }
  const copied: string[] = []
  const long = async (statement: string, signal: AbortSignal) => {
    signal.throwIfAborted()
    copied.push(statement)
  }
  const donor = { host: '10.0.0.1', port: 3306, user: 'repl', password: 'secret' }
  const request = { donor, encrypts: false, progress: () => undefined, signal: gaveUp.signal }
  await expect(cloneInto({ sql: sql as Sql, long, clock: realClock }, '/volume/data.seed', request)).rejects.toThrow(
    'its donor leads by now',
  )
  expect(copied).toEqual([])
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
  const request = { donor, encrypts: false, progress: () => undefined }
  const failure = await cloneInto({ sql: sql as Sql, long, clock: realClock }, '/volume/data.seed', request).then(
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

it('A copy of another server that is given up is gone from the server before another one may begin', async () => {
  const giveUp = new AbortController()
  const changes: string[] = []
  let left = 2
  const sql: Partial<Sql> = {
    read: async (statement) =>
      statement.includes('CLONE INSTANCE FROM') && left-- > 0 ? [{ id: 7, command: 'Query' }] : [],
    until: async (isDone) => {
      while (!(await isDone())) await new Promise((resolve) => setImmediate(resolve))
      return true
    },
    change: async (statement) => {
      changes.push(statement)
      return []
    },
  }
  const long = (_: string, stop: AbortSignal) =>
    new Promise((_resolve, reject) => {
      stop.addEventListener('abort', () => reject(stop.reason as Error))
      setImmediate(() => giveUp.abort(new Error('nothing came')))
    })
  const donor = { host: '10.0.0.1', port: 3306, user: 'repl', password: 'secret' }
  const request = { donor, encrypts: false, progress: () => undefined, signal: giveUp.signal }
  await expect(cloneInto({ sql: sql as Sql, long, clock: realClock }, '/volume/data.seed', request)).rejects.toThrow(
    'nothing came',
  )
  expect(left).toBeLessThan(1)
  expect(changes.filter((statement) => statement.startsWith('KILL'))).toHaveLength(2)
})

describe('A copy over the data of a server', () => {
  const donor = { host: '10.0.0.1', port: 3306, user: 'repl', password: 'secret' }
  const over = (errno: number | null) => {
    const sql: Partial<Sql> = {
      read: async () => [{ now: '2026-11-27 16:00:00.000' }],
      until: async (isDone) => isDone(),
      change: async () => [],
    }
    const long = async (statement: string) => {
      if (errno === null) throw describeFailure(statement, Object.assign(new Error('gone'), { code: 'ECONNRESET' }))
      throw describeFailure(statement, Object.assign(new Error('told'), { errno, sqlState: 'HY000' }))
    }
    return cloneOver({ sql: sql as Sql, long, clock: realClock }, { donor, encrypts: false, progress: () => undefined })
  }

  it('has ended where its server ends, whether somebody starts that again or not', async () => {
    expect(await over(3707)).toBe('2026-11-27 16:00:00.000')
    expect(await over(null)).toBe('2026-11-27 16:00:00.000')
    await expect(over(3862)).rejects.toThrow('(3862)')
  })

  it.each([
    ['knows of none', undefined],
    ['failed', { state: 'Failed', error: 'disk full', begun: '2026-11-27 16:00:01.000' }],
    ['is not through', { state: 'In Progress', error: '', begun: '2026-11-27 16:00:01.000' }],
    ['made an earlier one', { state: 'Completed', error: '', begun: '2026-11-27 15:59:59.999' }],
  ])('is not believed where its server %s', async (_, row) => {
    const sql = { read: async () => (row === undefined ? [] : [row]) } as Partial<Sql> as Sql
    await expect(requireCopied(sql, '2026-11-27 16:00:00.000')).rejects.toThrow('is not whole')
  })

  it('is believed where its server has it whole', async () => {
    const row = { state: 'Completed', error: '', begun: '2026-11-27 16:00:00.004' }
    const sql = { read: async () => [row] } as Partial<Sql> as Sql
    await expect(requireCopied(sql, '2026-11-27 16:00:00.000')).resolves.toBeUndefined()
  })
})

describe('CLONE takes no address of IPv6, and a donor with one', () => {
  const silent: Partial<Sql> = { read: async () => [], until: async (isDone) => isDone() }

  async function donorOn6(): Promise<{ readonly server: Server; readonly port: number }> {
    const server = createServer({ allowHalfOpen: true }, (socket) => {
      void text(socket).then((asked) => socket.end(`the donor heard ${asked}`))
    })
    await once(server.listen(0, '::1'), 'listening')
    onTestFinished(() => void server.close())
    return { server, port: (server.address() as AddressInfo).port }
  }

  it('is reached through an address of IPv4 that is there while the copy is made', async () => {
    const { port } = await donorOn6()
    const seen = { list: '', answer: '', port: 0 }
    const sql = { ...silent, change: async (statement: string) => ((seen.list = statement), []) } as Partial<Sql>
    const long = async (statement: string) => {
      const [, digits] = /^CLONE INSTANCE FROM 'repl'@'127\.0\.0\.1':(\d+) /.exec(statement) ?? []
      seen.port = Number(digits)
      const asking = connect({ host: '127.0.0.1', port: seen.port })
      asking.end('a question')
      seen.answer = await text(asking)
    }
    const donor = { host: '::1', port, user: 'repl', password: 'secret' }
    const request = { donor, encrypts: true, progress: () => undefined }
    await cloneInto({ sql: sql as Sql, long, clock: realClock }, '/volume/data.seed', request)
    expect(seen.list).toBe(`SET GLOBAL clone_valid_donor_list = '127.0.0.1:${seen.port}'`)
    expect(seen.answer).toBe('the donor heard a question')
    const late = connect({ host: '127.0.0.1', port: seen.port })
    expect(await new Promise((resolve) => late.once('error', resolve).once('connect', resolve))).toMatchObject({
      code: 'ECONNREFUSED',
    })
  })

  it('ends sessions of a copy that has ended', async () => {
    const { port } = await donorOn6()
    let closed: Promise<unknown> | undefined
    const long = async (statement: string) => {
      const asking = connect({ host: '127.0.0.1', port: Number(/:(\d+) /.exec(statement)?.[1]) })
      asking.on('error', () => undefined)
      await once(asking, 'connect')
      closed = once(asking, 'close')
    }
    const donor = { host: '::1', port, user: 'repl', password: 'secret' }
    const sql = { ...silent, change: async () => [] } as Partial<Sql>
    const request = { donor, encrypts: true, progress: () => undefined }
    await cloneInto({ sql: sql as Sql, long, clock: realClock }, '/volume/data.seed', request)
    await closed
  })

  it('is refused where the agent is not beside its server', async () => {
    const long = () => Promise.reject(new Error('nothing is to be copied'))
    const donor = { host: 'fd00::1', port: 3306, user: 'repl', password: 'secret' }
    const request = { donor, encrypts: false, progress: () => undefined }
    await expect(cloneOver({ sql: silent as Sql, long, clock: realClock, isFar: true }, request)).rejects.toMatchObject(
      {
        code: 'REGENT_FAR_CANNOT',
        message: expect.stringContaining('[fd00::1]:3306') as string,
      },
    )
  })
})

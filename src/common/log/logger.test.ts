import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { RegentError } from '../errors/errors.ts'
import { say } from '../sentence/sentence.ts'
import { createLogger, type Logger } from './logger.ts'

function logging(level = 'info'): { log: Logger; lines: () => Record<string, unknown>[] } {
  const written: string[] = []
  const log = createLogger({ level, name: 'manager', destination: { write: (line) => void written.push(line) } })
  return { log, lines: () => written.map((line) => JSON.parse(line) as Record<string, unknown>) }
}

describe('the logger', () => {
  it('writes one JSON line with the level by name, the time and who speaks', () => {
    const { log, lines } = logging()
    log.info({ cluster: 'shop' }, 'primary is shop-1')
    log.debug('not at this level')
    expect(lines()).toEqual([
      expect.objectContaining({
        level: 'info',
        name: 'manager',
        cluster: 'shop',
        msg: 'primary is shop-1',
        time: expect.stringMatching(/Z$/) as string,
      }),
    ])
  })

  it('leaves out passwords, tokens and secrets at any depth, in lists and in child loggers, and keeps what only sounds like them', () => {
    const { log, lines } = logging()
    log.info({
      password: 'hunter2',
      nested: { clientPassword: 'hunter2', list: [{ accessToken: 'hunter2' }] },
      authorization: 'Bearer hunter2',
      tokenFile: '/a/token',
      fencingToken: 7,
    })
    log.child({ secret: 'hunter2', cluster: 'shop' }).info('from a child')
    expect(JSON.stringify(lines())).not.toContain('hunter2')
    expect(lines()[0]).toMatchObject({ password: '[redacted]', tokenFile: '/a/token', fencingToken: 7 })
    expect(lines()[1]).toMatchObject({ cluster: 'shop' })
  })

  it('writes an error with its code and causes, without the other fields a driver puts on it', () => {
    const { log, lines } = logging()
    const cause = Object.assign(new Error('denied'), { code: 'ER_DENIED', sql: "ALTER USER x IDENTIFIED BY 'hunter2'" })
    log.error({ err: new RegentError('REGENT_SERVER_ERROR', say`MySQL refused it`, { cause }) }, 'failed')
    expect(lines()[0]).toMatchObject({
      err: {
        code: 'REGENT_SERVER_ERROR',
        message: 'MySQL refused it',
        cause: { code: 'ER_DENIED', message: 'denied' },
      },
    })
    expect(JSON.stringify(lines())).not.toContain('hunter2')
  })

  it('refuses a level it does not know, naming those it does', () => {
    expect(() => createLogger({ level: 'loud', name: 'x' })).toThrow(/"loud".*trace, debug, info/)
  })

  it('writes every line into a file too, where one is given', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'regent-test-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    const [path, written]: [string, string[]] = [join(folder, 'manager.log'), []]
    const log = createLogger({
      level: 'info',
      name: 'manager',
      destination: { write: (line) => void written.push(line) },
      file: { path, maxBytes: 1_000, maxFiles: 1 },
    })
    log.info({ token: 'hunter2' }, 'one')
    log.debug('not at this level')
    expect(await readFile(path, 'utf8')).toBe(written.join(''))
    expect(written).toEqual([expect.stringContaining('"token":"[redacted]"')])
  })
})

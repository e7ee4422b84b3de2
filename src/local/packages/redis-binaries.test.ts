import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { findRedis } from './redis-binaries.ts'

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'regent-redis-'))
})

afterEach(async () => {
  vi.unstubAllEnvs()
  await rm(folder, { recursive: true, force: true })
})

async function script(name: string, text: string): Promise<string> {
  const path = join(folder, name)
  await writeFile(path, `#!/bin/sh\n${text}\n`)
  await chmod(path, 0o755)
  return path
}

const server = 'echo "Redis server v=8.0.6 sha=00000000:1 malloc=jemalloc-5.3.0 bits=64 build=0"'

describe('REGENT_REDIS_SERVER', () => {
  it('is used with the redis-cli beside it', async () => {
    const redisServer = await script('redis-server', server)
    const redisCli = await script('redis-cli', ':')
    vi.stubEnv('REGENT_REDIS_SERVER', redisServer)
    expect(await findRedis()).toEqual({ redisServer: [redisServer], redisCli: [redisCli], version: '8.0.6' })
  })

  it.each([
    ['is a relative path', 'redis-server', 'REGENT_REDIS_SERVER is "redis-server", but must be the absolute path'],
    ['is not there', '/no/such/redis-server', 'REGENT_REDIS_SERVER=/no/such/redis-server is not an executable file'],
  ])('is refused with its value when it %s', async (_, value, message) => {
    vi.stubEnv('REGENT_REDIS_SERVER', value)
    await expect(findRedis()).rejects.toMatchObject({
      code: 'REGENT_REDIS_MISSING',
      message: expect.stringContaining(message) as string,
    })
  })

  it('is refused when it is another program', async () => {
    await script('redis-cli', ':')
    vi.stubEnv('REGENT_REDIS_SERVER', await script('redis-server', 'echo hello'))
    await expect(findRedis()).rejects.toMatchObject({
      code: 'REGENT_REDIS_MISSING',
      message: expect.stringContaining('does not run as a redis-server: hello') as string,
    })
  })

  it('is refused when its redis-cli is missing', async () => {
    vi.stubEnv('REGENT_REDIS_SERVER', await script('redis-server', server))
    vi.stubEnv('PATH', '/nowhere')
    await expect(findRedis()).rejects.toMatchObject({
      code: 'REGENT_REDIS_MISSING',
      message: expect.stringContaining('has no redis-cli beside it') as string,
    })
  })
})

describe('PATH', () => {
  it('gives its redis-server', async () => {
    const redisServer = await script('redis-server', server)
    await script('redis-cli', ':')
    vi.stubEnv('REGENT_REDIS_SERVER', '')
    vi.stubEnv('PATH', `${folder}:${process.env['PATH']}`)
    expect((await findRedis()).redisServer).toEqual([redisServer])
  })
})

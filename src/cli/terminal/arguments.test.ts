import { afterEach, describe, expect, test, vi } from 'vitest'
import { parseRedisAddress } from '#store/redis-address.ts'
import { storeArgument } from './arguments.ts'

afterEach(() => vi.unstubAllEnvs())

describe('the URL of a store', () => {
  test.each(['secret', 'p@ss/w:rd', '50% off', 'ünïcode ☃'])(
    'gets its password, %s, from the environment',
    (password) => {
      vi.stubEnv('REGENT_REDIS_PASSWORD', password)
      expect(parseRedisAddress(storeArgument('redis://127.0.0.1:7000/1'))).toMatchObject({
        shown: 'redis://127.0.0.1:7000/1',
        options: { password },
      })
      expect(parseRedisAddress(storeArgument('rediss://ann@db.example/1')).options).toMatchObject({
        username: 'ann',
        password,
      })
    },
  )

  test('keeps a password of its own, and one that has none is left as it is', () => {
    vi.stubEnv('REGENT_REDIS_PASSWORD', 'other')
    expect(storeArgument('redis://:own@127.0.0.1')).toBe('redis://:own@127.0.0.1')
    expect(storeArgument('file')).toBe('file')
    vi.stubEnv('REGENT_REDIS_PASSWORD', '')
    expect(storeArgument('redis://127.0.0.1')).toBe('redis://127.0.0.1')
  })
})

import { describe, expect, it } from 'vitest'
import { parseRedisAddress } from './redis-address.ts'

describe('The address of a Redis', () => {
  it.each([
    ['redis://127.0.0.1', 'redis://127.0.0.1:6379/0', { host: '127.0.0.1', port: 6379, db: 0 }],
    [
      'redis://records.example:7000/3',
      'redis://records.example:7000/3',
      { host: 'records.example', port: 7000, db: 3 },
    ],
    ['redis://[::1]:7000/', 'redis://[::1]:7000/0', { host: '::1', port: 7000, db: 0 }],
    [
      'redis://:secret@127.0.0.1',
      'redis://127.0.0.1:6379/0',
      { host: '127.0.0.1', port: 6379, db: 0, password: 'secret' },
    ],
    [
      'redis://me:s%40c%2Fr%3At@127.0.0.1',
      'redis://127.0.0.1:6379/0',
      { host: '127.0.0.1', port: 6379, db: 0, username: 'me', password: 's@c/r:t' },
    ],
    [
      'rediss://records.example',
      'rediss://records.example:6379/0',
      { host: 'records.example', port: 6379, db: 0, tls: { servername: 'records.example' } },
    ],
    ['rediss://10.0.0.1', 'rediss://10.0.0.1:6379/0', { host: '10.0.0.1', port: 6379, db: 0, tls: {} }],
  ])('%s is read, and shown without user and password', (text, shown, options) => {
    expect(parseRedisAddress(text)).toEqual({ shown, options })
  })
})

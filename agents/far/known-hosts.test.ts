import { createHmac } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { algorithmsFor, fingerprintOf, knownKeys, typeOf } from './known-hosts.ts'

const key = (type: string): string => {
  const length = Buffer.alloc(4)
  length.writeUInt32BE(type.length)
  return Buffer.concat([length, Buffer.from(type), Buffer.from('the rest')]).toString('base64')
}
const ed25519 = { type: 'ssh-ed25519', base64: key('ssh-ed25519') }
const line = (names: string): string => `${names} ${ed25519.type} ${ed25519.base64} a comment\n`

describe('Of a known hosts file, a host', () => {
  it.each<[string, string, number, number]>([
    ['has the key of a line that names it', line('db1,10.0.0.1'), 22, 1],
    ['has no key of a line that names another', line('10.0.0.2'), 22, 0],
    ['has no key of a line for another port', line('10.0.0.1'), 2222, 0],
    ['has the key of a line with its port', line('[10.0.0.1]:2222'), 2222, 1],
    ['has no key that is revoked', `@revoked ${line('10.0.0.1')}`, 22, 0],
    [
      'has no key that is revoked, also where another line has it',
      `${line('10.0.0.1')}@revoked * ${line('').trim()}\n`,
      22,
      0,
    ],
    ['has no key of a comment', `# ${line('10.0.0.1')}`, 22, 0],
  ])('%s', (_, text, port, count) => {
    expect(knownKeys(text, '10.0.0.1', port)).toHaveLength(count)
  })

  it('has the key of a line whose names are hashed', () => {
    const salt = Buffer.from('a salt of twenty byt')
    const hash = createHmac('sha1', salt).update('10.0.0.1').digest('base64')
    const text = line(`|1|${salt.toString('base64')}|${hash}`)
    expect(knownKeys(text, '10.0.0.1', 22)).toEqual([ed25519])
    expect(knownKeys(text, '10.0.0.2', 22)).toEqual([])
  })
})

it('A key is told by its type and its fingerprint, as ssh tells it', () => {
  const bytes = Buffer.from(ed25519.base64, 'base64')
  expect(typeOf(bytes)).toBe('ssh-ed25519')
  expect(typeOf(Buffer.of(1))).toBe('')
  expect(fingerprintOf(bytes)).toMatch(/^SHA256:[A-Za-z0-9+/]{43}$/)
})

it('A host is asked for a key of a type that is known, and an RSA key with a signature that is safe', () => {
  expect(algorithmsFor([ed25519, { type: 'ssh-rsa', base64: '' }])).toEqual([
    'ssh-ed25519',
    'rsa-sha2-512',
    'rsa-sha2-256',
  ])
})

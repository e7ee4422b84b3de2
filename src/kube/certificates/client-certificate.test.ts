import { beforeAll, describe, expect, it } from 'vitest'
import { issueAuthority, issueLeaf, type Issued } from '#certificates/issue.ts'
import { realRandom } from '#common/ports/real-world.ts'
import { complaintAboutClientCertificate } from './client-certificate.ts'
import { dataOf, type Secret } from '../secrets/secrets.ts'

const nowMs = Date.UTC(2026, 5, 1)
const hourMs = 3_600_000
let authority: Issued
let leaf: Issued
let other: Issued

beforeAll(async () => {
  const moment = { wallMs: nowMs, random: realRandom }
  authority = await issueAuthority(24 * hourMs, moment)
  const make = () => issueLeaf(authority, { dns: ['db.example'], purposes: ['server'], validMs: hourMs }, moment)
  leaf = await make()
  other = await make()
})

const secretOf = (texts: Readonly<Record<string, string>>): Secret => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'mine' },
  data: dataOf(texts),
})
const good = () => ({ 'tls.crt': leaf.cert, 'tls.key': leaf.key, 'ca.crt': authority.cert })
const complaint = (texts: Readonly<Record<string, string>>, wallMs = nowMs) =>
  complaintAboutClientCertificate(secretOf(texts), wallMs)?.toString()

describe('a Secret with what clients are to be shown', () => {
  it('can be used with an authority and without', () => {
    expect(complaint(good())).toBeUndefined()
    expect(complaint({ 'tls.crt': leaf.cert, 'tls.key': leaf.key })).toBeUndefined()
  })

  it('cannot be used where it is missing, or something in it', () => {
    expect(String(complaintAboutClientCertificate(undefined, nowMs))).toBe('is not there')
    expect(complaint({ 'tls.key': leaf.key })).toBe('lacks tls.crt')
    expect(complaint({ 'tls.crt': leaf.cert })).toBe('lacks tls.key')
  })

  it('cannot be used where it does not fit together', () => {
    expect(complaint({ ...good(), 'tls.key': other.key })).toBe('cannot be used: tls.key is not the key of tls.crt')
    expect(complaint({ ...good(), 'tls.crt': 'a certificate' })).toContain(
      'cannot be used: tls.crt or tls.key cannot be read',
    )
    expect(complaint({ ...good(), 'ca.crt': 'an authority' })).toContain('cannot be used: ca.crt cannot be read')
  })

  it('cannot be used before its time and after', () => {
    expect(complaint(good(), nowMs + 2 * hourMs)).toBe(
      'is valid only from 2026-05-31T23:55:00.000Z until 2026-06-01T01:00:00.000Z',
    )
    expect(complaint(good(), nowMs - hourMs)).toContain('is valid only from')
  })
})

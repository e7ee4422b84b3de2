import { X509Certificate } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { realRandom } from '#common/ports/real-world.ts'
import { certificatesIn, isSignedBy } from './certificate.ts'
import { renewedChain, settleMs, type Chain, type ChainWish } from './chain.ts'
import { clockSkewMs, issueAuthority } from './issue.ts'

const day = 86_400_000
const start = Date.UTC(2026, 0, 1)
const wish: ChainWish<'server' | 'peer'> = {
  authorityValidMs: 3_650 * day,
  leaves: {
    server: { dns: ['regent.regent.svc', 'localhost'], ips: ['127.0.0.1'], purposes: ['server'], validMs: 90 * day },
    peer: { dns: ['agent.shop.shops.regent'], purposes: ['server', 'client'], validMs: 90 * day },
  },
}
type Found = Chain<'server' | 'peer'>

const at = (wallMs: number, found: Partial<Found> = {}, wanted = wish) =>
  renewedChain({ leaves: {}, ...found }, wanted, { wallMs, random: realRandom })
const authoritiesOf = (chain: Found) => certificatesIn(chain.bundle)
const leafOf = (chain: Found, name: 'server' | 'peer' = 'server') => new X509Certificate(chain.leaves[name].cert)

describe('a chain that is made', () => {
  it('has an authority that can sign leaves only, and leaves that say who they are and what for', async () => {
    const made = await at(start)
    const [authority] = authoritiesOf(made)
    expect(authority).toMatchObject({ ca: true, issuer: authority?.subject })
    expect(isSignedBy(leafOf(made), authority)).toBe(true)
    expect(leafOf(made)).toMatchObject({
      ca: false,
      subjectAltName: 'DNS:regent.regent.svc, DNS:localhost, IP Address:127.0.0.1',
      keyUsage: ['1.3.6.1.5.5.7.3.1'],
    })
    expect(leafOf(made, 'peer').keyUsage).toEqual(['1.3.6.1.5.5.7.3.1', '1.3.6.1.5.5.7.3.2'])
    expect(leafOf(made).publicKey.asymmetricKeyDetails).toEqual({ namedCurve: 'prime256v1' })
  })

  it('is valid for those whose clocks are a little behind, and as long as was asked', async () => {
    const leaf = leafOf(await at(start))
    expect(leaf.validFromDate.getTime()).toBe(start - clockSkewMs)
    expect(leaf.validToDate.getTime()).toBe(start + 90 * day)
  })

  it('has no leaf that outlives its authority', async () => {
    const short = await at(start, {}, { ...wish, authorityValidMs: 10 * day })
    expect(leafOf(short).validTo).toBe(authoritiesOf(short)[0]?.validTo)
  })
})

describe('a chain that is found', () => {
  it('stays to the letter until two thirds of a leaf’s time are over', async () => {
    const made = await at(start)
    expect(await at(start + 59 * day, made)).toEqual(made)
    const renewed = await at(start + 61 * day, made)
    expect(renewed).toMatchObject({ bundle: made.bundle, key: made.key })
    expect(leafOf(renewed).validToDate.getTime()).toBe(start + 151 * day)
  })

  it('gets a new leaf for other names or purposes, and keeps the other', async () => {
    const made = await at(start)
    const other = {
      ...wish,
      leaves: { ...wish.leaves, server: { ...wish.leaves.server, dns: ['regent.elsewhere.svc'] } },
    }
    const changed = await at(start, made, other)
    expect(leafOf(changed).subjectAltName).toContain('DNS:regent.elsewhere.svc')
    expect(changed.leaves.peer).toEqual(made.leaves.peer)
    const purposes = {
      ...wish,
      leaves: { ...wish.leaves, server: { ...wish.leaves.server, purposes: ['server', 'client'] as const } },
    }
    expect(leafOf(await at(start, made, purposes)).keyUsage).toHaveLength(2)
  })

  it.each<readonly [string, (made: Found, other: Found) => Partial<Found['leaves']>]>([
    ['is gone', ({ leaves }) => ({ peer: leaves.peer })],
    [
      'is no certificate',
      ({ leaves }) => ({
        ...leaves,
        server: { ...leaves.server, cert: '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n' },
      }),
    ],
    ['has another key', ({ leaves }) => ({ ...leaves, server: { ...leaves.server, key: leaves.peer.key } })],
    ['is of a stranger', ({ leaves }, other) => ({ ...leaves, server: other.leaves.server })],
  ])('gets a new leaf where that %s', async (_, spoil) => {
    const made = await at(start)
    const found = { ...made, leaves: spoil(made, await at(start)) as Found['leaves'] }
    const repaired = await at(start, found)
    expect(repaired.bundle).toBe(made.bundle)
    expect(isSignedBy(leafOf(repaired), authoritiesOf(made)[0])).toBe(true)
    expect(repaired.leaves.peer).toEqual(made.leaves.peer)
  })

  it('is wholly new where everything has expired', async () => {
    const made = await at(start)
    const late = await at(start + 3_651 * day, made)
    expect(authoritiesOf(late)).toHaveLength(1)
    expect(late.bundle).not.toBe(made.bundle)
  })
})

describe('an authority that is replaced', () => {
  /** The states that follow each other, with whatever is due at each moment. */
  const through = async (made: Found, ...moments: readonly number[]) => {
    const states = [made]
    for (const wallMs of moments) states.push(await at(wallMs, states.at(-1)))
    return states
  }

  it('never leaves anybody with a certificate that somebody who is a step behind would not trust', async () => {
    const due = start + 2_434 * day
    const fresh = (await through(await at(start), due - day)).at(-1) as Found
    const states = await through(
      fresh,
      due,
      due + settleMs / 2,
      due + settleMs,
      due + settleMs * 1.5,
      due + settleMs * 2,
    )
    expect(states.map((one) => authoritiesOf(one).length)).toEqual([1, 2, 2, 2, 2, 1])
    expect(authoritiesOf(states[5] as Found)[0]?.subject).not.toBe(authoritiesOf(fresh)[0]?.subject)
    for (const [index, state] of states.slice(1).entries()) {
      const previous = states[index] as Found
      for (const [trusts, shown] of [
        [previous, state],
        [state, previous],
      ] as const) {
        for (const name of ['server', 'peer'] as const)
          expect(authoritiesOf(trusts).some((one) => isSignedBy(leafOf(shown, name), one))).toBe(true)
      }
    }
  })

  it('stays trusted where only its key was lost', async () => {
    const made = await at(start)
    const { key: _key, ...rest } = made
    const found = await at(start + day, rest)
    expect(authoritiesOf(found)).toHaveLength(2)
    expect(authoritiesOf(found)[1]?.toString()).toBe(made.bundle)
    expect(found.leaves).toEqual(made.leaves)
  })

  it('is no certificate that merely stands in the bundle', async () => {
    const made = await at(start)
    const leafFirst = await at(start, { ...made, bundle: made.leaves.server.cert + made.bundle })
    expect(leafFirst.bundle).not.toContain(made.leaves.server.cert)
  })

  it('is of this library also where another made it', async () => {
    const { cert, key } = await issueAuthority(3_650 * day, { wallMs: start, random: realRandom })
    const chain = await at(start, { bundle: cert, key })
    expect(chain).toMatchObject({ bundle: cert, key })
  })
})

import { describe, expect, it } from 'vitest'
import { certificatesIn, isSignedBy } from '#certificates/certificate.ts'
import { realRandom } from '#common/ports/real-world.ts'
import { certificatesOf, managerTlsFor } from './cluster-certificates.ts'
import { textIn, type Secret } from '../secrets/secrets.ts'
import { aCluster } from '../testing.ts'

const start = Date.UTC(2026, 0, 1)
const dayMs = 86_400_000
const byName = (found: readonly Secret[]) => new Map(found.map((one) => [one.metadata.name, one]))
const at = async (wallMs: number, existing: ReadonlyMap<string, Secret> = new Map(), cluster = aCluster()) =>
  byName(await certificatesOf(cluster, existing, { wallMs, random: realRandom }))
const leafOf = (secret: Secret | undefined) => certificatesIn(textIn(secret, 'tls.crt'))[0]

describe('the certificates of a cluster', () => {
  it('keep the authority’s key away from the pods', async () => {
    const made = await at(start)
    expect([...made.keys()]).toEqual(['shop-ca', 'shop-certificates'])
    expect(Object.keys(made.get('shop-ca')?.data ?? {})).toEqual(['ca.crt', 'ca.key', 'tls.crt', 'tls.key'])
    expect(Object.keys(made.get('shop-certificates')?.data ?? {})).toEqual(['ca.crt', 'tls.crt', 'tls.key'])
  })

  it('name cluster and namespace: agents as servers and clients, managers as clients', async () => {
    const made = await at(start)
    expect(leafOf(made.get('shop-certificates'))).toMatchObject({
      subjectAltName: 'DNS:agent.shop.shops.regent',
      keyUsage: ['1.3.6.1.5.5.7.3.1', '1.3.6.1.5.5.7.3.2'],
    })
    expect(leafOf(made.get('shop-ca'))).toMatchObject({
      subjectAltName: 'DNS:manager.shop.shops.regent',
      keyUsage: ['1.3.6.1.5.5.7.3.2'],
    })
  })

  it('go with the cluster, and can be mounted as any TLS Secret', async () => {
    for (const secret of (await at(start)).values()) {
      expect(secret).toMatchObject({
        type: 'kubernetes.io/tls',
        metadata: {
          namespace: 'shops',
          ownerReferences: [{ name: 'shop', uid: 'u1' }],
          labels: { 'regent.dev/cluster': 'shop' },
        },
      })
    }
  })

  it('stay as they are, and are renewed after two of three months', async () => {
    const made = await at(start)
    expect(await at(start + 59 * dayMs, made)).toEqual(made)
    const later = await at(start + 61 * dayMs, made)
    expect(textIn(later.get('shop-ca'), 'ca.crt')).toBe(textIn(made.get('shop-ca'), 'ca.crt'))
    for (const name of made.keys()) expect(leafOf(later.get(name))?.validToDate.getTime()).toBe(start + 151 * dayMs)
  })

  it('are still trusted by agents when the authority’s Secret was deleted', async () => {
    const made = await at(start)
    const again = await at(start, new Map([...made].filter(([name]) => name !== 'shop-ca')))
    const bundle = certificatesIn(textIn(again.get('shop-certificates'), 'ca.crt'))
    expect(bundle).toHaveLength(2)
    expect(isSignedBy(leafOf(again.get('shop-ca')) ?? raise(), bundle[0])).toBe(true)
    expect(textIn(again.get('shop-certificates'), 'tls.crt')).toBe(textIn(made.get('shop-certificates'), 'tls.crt'))
  })

  it('of managers stay the ones that agents trust when the authority’s Secret was deleted, and that is in memory', async () => {
    const made = await at(start)
    const agentsTrust = textIn(made.get('shop-certificates'), 'ca.crt')
    const [remembered, rest] = [made.get('shop-ca'), new Map([...made].filter(([name]) => name !== 'shop-ca'))]
    const again = byName(await certificatesOf(aCluster(), rest, { wallMs: start, random: realRandom }, remembered))
    expect(textIn(again.get('shop-ca'), 'tls.crt')).toBe(textIn(remembered, 'tls.crt'))
    // The authority is another one all the same: deleting it asks for that.
    expect(textIn(again.get('shop-ca'), 'ca.key')).not.toBe(textIn(remembered, 'ca.key'))
    expect(isSignedBy(leafOf(again.get('shop-ca')) ?? raise(), certificatesIn(agentsTrust)[0])).toBe(true)
    expect(textIn(again.get('shop-ca'), 'ca.crt')).toContain(agentsTrust)
    // Once everybody has heard of the new one, it signs.
    const later = byName(await certificatesOf(aCluster(), again, { wallMs: start + dayMs, random: realRandom }))
    expect(
      isSignedBy(leafOf(later.get('shop-ca')) ?? raise(), certificatesIn(textIn(again.get('shop-ca'), 'ca.crt'))[0]),
    ).toBe(true)
  })

  it('are what a manager shows, as the Secret is at that moment', async () => {
    const there = new Map<string, Secret>()
    const tls = managerTlsFor('shop', 'shops', () => there.get('shop-ca'))
    expect(tls.certificates.current()).toBeUndefined()
    const secret = (await at(start)).get('shop-ca') ?? raise()
    there.set('shop-ca', secret)
    expect(tls).toMatchObject({ servername: 'agent.shop.shops.regent' })
    expect(tls.certificates.current()).toEqual({
      cert: textIn(secret, 'tls.crt'),
      key: textIn(secret, 'tls.key'),
      ca: textIn(secret, 'ca.crt'),
    })
  })
})

function raise(): never {
  throw new Error('there is no certificate')
}

import { describe, expect, it } from 'vitest'
import { fileWith } from '#local/testing.ts'
import { checkAdoption, hostsOf, readAdoption } from './adoption.ts'
import { addressText, parseHostAddress } from './host-address.ts'

const mysql = { user: 'regent', passwordFile: '/p' }
const shop = { cluster: 'shop', mysql, hosts: ['10.0.0.1', '[::1]:3307', { host: 'db3.example', promotion: 'never' }] }

function refusal(value: unknown): string {
  try {
    checkAdoption('shop.yaml', value)
    return ''
  } catch (error) {
    return String(error)
  }
}

describe('An adoption file', () => {
  it('names its hosts in short or in full, and says for all what it need not say for each', () => {
    const own = { user: 'other', passwordFile: '/q' }
    const adoption = checkAdoption('shop.yaml', { ...shop, hosts: [...shop.hosts, { host: 'db4', mysql: own }] })
    expect(
      hostsOf(adoption).map((host) => [host.instance, addressText(host), host.mysql.user, host.promotion]),
    ).toEqual([
      ['shop-0', '10.0.0.1:3306', 'regent', 'neutral'],
      ['shop-1', '[::1]:3307', 'regent', 'neutral'],
      ['shop-2', 'db3.example:3306', 'regent', 'never'],
      ['shop-3', 'db4:3306', 'other', 'neutral'],
    ])
    expect(adoption).toMatchObject({ mode: 'async', failover: { acceptLoss: 'never' }, maxLagSeconds: 30 })
  })

  it.each<[unknown, string]>([
    [{ ...shop, hosts: [] }, 'hosts is []; allowed is a list of 1 to 100 hosts'],
    [{ ...shop, hosts: ['10.0.0.1:99999'] }, 'hosts.0 is "10.0.0.1:99999"'],
    [{ ...shop, hosts: ['DB1', { host: 'db1', port: 3306 }] }, 'hosts.1 is db1:3306 once more'],
    [{ ...shop, hosts: [{ host: 'db1', prot: 3306 }] }, 'hosts.0 has the unknown key "prot"; allowed are host, port'],
    [{ ...shop, mysql: undefined }, 'hosts.0 has no account: give mysql there, or at the top level'],
    [{ ...shop, cluster: 'Shop' }, '"Shop" is no cluster name'],
    [{ ...shop, mysql: { user: 'regent' } }, 'mysql lacks "passwordFile"'],
    [{ ...shop, hosts: [{ host: 'db1', promotion: 'never' }] }, 'none of them could ever be primary'],
    [{ ...shop, mode: 'semisync', failover: { acceptLoss: 'always' } }, 'allowed is never'],
    [{ ...shop, failover: { acceptLoss: 'upTo' } }, 'failover.acceptLossUpTo is missing'],
    [{ ...shop, ssh: { user: 'mysql', keyFile: '/k' } }, 'ssh lacks "knownHostsFile"'],
    [{ ...shop, hooks: { afterFailover: [{}] } }, 'hooks.afterFailover.0 has 0 of command, shell and webhook'],
    [{ ...shop, hooks: { failed: [{ command: ['a', '{nobody}'] }] } }, 'has the unknown placeholder {nobody}'],
    [{ ...shop, hooks: { later: [] } }, 'hooks has the unknown key "later"'],
    [{ ...shop, version: 2 }, 'this Regent understands up to 1'],
    [[], 'the top level is []; allowed is a mapping'],
  ])('is refused: %j', (value, words) => {
    expect(refusal(value)).toContain(words)
  })

  it('has hooks, as a cluster has', () => {
    const hooks = { afterFailover: [{ command: ['/usr/local/bin/vip', '{successorHost}'], timeoutMs: 2_000 }] }
    expect(checkAdoption('shop.yaml', { ...shop, hooks })).toMatchObject({ hooks })
    expect(checkAdoption('shop.yaml', shop)).not.toHaveProperty('hooks')
  })

  it('is read from YAML', async () => {
    const file = await fileWith(`cluster: shop\nmysql: { user: regent, passwordFile: /p }\nhosts:\n  - 10.0.0.1\n`)
    expect((await readAdoption(file)).hosts).toHaveLength(1)
  })
})

it.each<[string, string | undefined]>([
  ['10.0.0.1', '10.0.0.1:3306'],
  ['db1.example:3307', 'db1.example:3307'],
  ['::1', '[::1]:3306'],
  ['[fe80::1%eth0]:3307', '[fe80::1%eth0]:3307'],
  ['[10.0.0.1]:3306', undefined],
  ['db1:0', undefined],
  ['db1:3306:3306', undefined],
  ['user@db1', undefined],
  ['', undefined],
])('The address %j is read as %j', (text, shown) => {
  const address = parseHostAddress(text)
  expect(address && addressText(address)).toBe(shown)
})

import { describe, expect, it } from 'vitest'
import { uuidOf } from '#topology/testing.ts'
import { hostsOf, type AdoptedHost } from '../adoption.ts'
import { refusalsOfAll, severalServers } from './check.ts'
import { aChannel, anAdoption, looksOf, type LookOverrides } from './testing.ts'

function refusals(...looks: readonly LookOverrides[]): readonly string[] {
  return refusalsOfAll(anAdoption({ looks }), looksOf({ looks }))
}

describe('Servers of one file', () => {
  it.each<readonly [string, readonly LookOverrides[]]>([
    ['one primary and its replicas', [{}, {}, {}]],
    ['a replica of a replica', [{}, {}, { follows: 1 }]],
    ['two that follow each other', [{ follows: 1 }, { follows: 0 }]],
    ['one that follows nobody, and that nobody follows', [{}, {}, { follows: null }]],
    ['one that does not answer', [{}, {}, { reach: 'silent', server: null }]],
    [
      'replicas of one source that is not in the file',
      [1, 2].map(() => ({ server: { channels: [aChannel(0, { sourceHost: '10.9.9.9', sourceUuid: 'other' })] } })),
    ],
    ['several that tell no server_uuid', [{}, { server: { uuid: '' } }, { server: { uuid: '' } }]],
  ])('are not refused: %s', (_what, looks) => {
    expect(refusals(...looks)).toEqual([])
  })

  it('of which none answers are refused', () => {
    const silent: LookOverrides = { reach: 'silent', server: null }
    expect(refusals(silent, silent)).toEqual(['no server answers: nothing is known of this cluster'])
  })

  it('that are two clusters are refused, and the larger cluster is named first', () => {
    expect(refusals({}, {}, { follows: null }, { follows: 2 }, { follows: 2 })).toEqual([
      'two clusters are in one file: shop-2 leads shop-3, shop-4, shop-0 leads shop-1; make a file for each',
    ])
  })

  it('that are three clusters are refused for each beside the largest', () => {
    expect(
      refusals({}, {}, {}, { follows: null }, { follows: 3 }, { follows: null }, { follows: 5 }).map(
        (line) => /shop-\d leads shop-\d;/.exec(line)?.[0],
      ),
    ).toEqual(['shop-3 leads shop-4;', 'shop-5 leads shop-6;'])
  })

  it('that follow each other in a ring of more than two are refused', () => {
    expect(refusals({ follows: 2 }, { follows: 0 }, { follows: 1 })).toEqual([
      expect.stringMatching(
        /^shop-\d follows shop-\d follows shop-\d follows shop-\d: a ring of more than two has no primary$/,
      ),
    ])
  })

  it('of which one is named twice are refused', () => {
    const again = { uuid: uuidOf('shop-1'), hostname: 'db1', serverId: 2 }
    expect(refusals({}, {}, { server: again })).toEqual([
      `shop-2 at 10.0.0.3:3306 and shop-1 at 10.0.0.2:3306 are one server (server_uuid ${uuidOf('shop-1')}): name each server once`,
    ])
  })

  it.each([
    ['on another host', { hostname: 'db2' }],
    ['on another port', { hostname: 'db1', port: 3307 }],
    ['of another data folder', { hostname: 'db1', dataDir: '/other' }],
  ])('of which two take themselves for one are refused: %s', (_what, apart) => {
    expect(refusals({}, {}, { server: { uuid: uuidOf('shop-1'), ...apart } })).toEqual([
      `shop-2 at 10.0.0.3:3306 has the server_uuid of shop-1 at 10.0.0.2:3306, ${uuidOf('shop-1')}: remove auto.cnf there, then restart that server`,
    ])
  })
})

describe('A name of a host', () => {
  const [host] = hostsOf(anAdoption({ hosts: { 0: { host: 'db.example.com' } } }))
  const [first, second] = ['10.0.0.1', '10.0.0.2'] as const

  async function said(servers: Readonly<Record<string, string | undefined>>, name = host): Promise<readonly string[]> {
    if (name === undefined) throw new Error('a host is needed')
    return severalServers(name, {
      resolve: async () => Object.keys(servers),
      identify: async ({ host: address }: AdoptedHost) => servers[address],
    })
  }

  it('that has the addresses of two servers is refused', async () => {
    expect(await said({ [first]: 'one', [second]: 'other' })).toEqual([
      'shop-0: db.example.com has the addresses 10.0.0.1, 10.0.0.2, which are 2 servers: name each by itself',
    ])
  })

  it.each<readonly [string, Readonly<Record<string, string | undefined>>]>([
    ['two addresses of one server', { [first]: 'one', [second]: 'one' }],
    ['an address at which nobody answers', { [first]: 'one', [second]: undefined }],
    ['one address', { [first]: 'one' }],
    ['no address', {}],
  ])('is not refused with %s', async (_what, servers) => {
    expect(await said(servers)).toEqual([])
  })

  it('is not looked up where the file has an address', async () => {
    const [byAddress] = hostsOf(anAdoption())
    expect(await said({ [first]: 'one', [second]: 'other' }, byAddress)).toEqual([])
  })
})

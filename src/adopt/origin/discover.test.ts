import { describe, expect, it } from 'vitest'
import { uuidOf } from '#topology/testing.ts'
import { addressText, type HostAddress } from '../host-address.ts'
import type { SeenServer } from '../servers/seen.ts'
import { looksOf } from '../watch/testing.ts'
import { discover } from './discover.ts'

const mysql = { user: 'regent', passwordFile: '/p' }

/** Servers of a tree: the fourth part of them below the first, the others below those. Sources list their replicas. */
function treeOf(count: number): ReadonlyMap<string, SeenServer> {
  const first = Math.ceil(count / 4)
  const follows = Array.from({ length: count }, (_, at) => (at === 0 ? null : at <= first ? 0 : 1 + (at % first)))
  const addresses = follows.map((_, at) => ({ host: `10.0.0.${at + 1}`, port: 3306 }))
  return new Map(
    follows.map((source, at) => {
      const [{ server } = { server: null }] = looksOf({ looks: [{ follows: source }] })
      const listed = follows.flatMap((source, one) =>
        source === at
          ? [{ host: `10.0.0.${one + 1}`, port: 3306, uuid: uuidOf(`shop-${one}`), serverId: one + 1 }]
          : [],
      )
      return [
        addressText(addresses[at] ?? { host: '', port: 0 }),
        { ...(server as SeenServer), uuid: uuidOf(`shop-${at}`), listed },
      ] as const
    }),
  )
}

describe('Servers that replicate with one', () => {
  const found = async (count: number, start: string, silent: readonly string[] = []) => {
    const all = treeOf(count)
    const told: string[] = []
    let [under, most] = [0, 0]
    const lookAt = async (address: HostAddress): Promise<SeenServer | Error> => {
      most = Math.max(most, ++under)
      await new Promise((resolve) => setTimeout(resolve, 1))
      under -= 1
      const text = addressText(address)
      return (silent.includes(text) ? undefined : all.get(text)) ?? new Error('nobody listens there')
    }
    const tell = (line: string): void => void told.push(line)
    const adoption = await discover({ host: start, port: 3306 }, { cluster: 'shop', mysql, tell, lookAt })
    return { hosts: adoption.hosts.map(({ host }) => host), told, most }
  }

  it('are found upwards and downwards, twenty of them, those of one tier together', async () => {
    const { hosts, most } = await found(20, '10.0.0.20')
    expect(new Set(hosts).size).toBe(20)
    expect(hosts[0]).toBe('10.0.0.1')
    expect(most).toBeGreaterThan(4)
  })

  it('are all the same where one of them is silent, and that one is told of', async () => {
    const { hosts, told } = await found(20, '10.0.0.1', ['10.0.0.7:3306'])
    expect(hosts).toHaveLength(19)
    expect(told.join('\n')).toMatch(/10\.0\.0\.7:3306 \(a replica of .*\) cannot be looked at: nobody listens there/)
  })

  it('are refused where they are too many, and where nobody answers at the first', async () => {
    await expect(found(130, '10.0.0.1')).rejects.toThrow('shop has more than 100 servers')
    await expect(found(3, '10.0.0.1', ['10.0.0.1:3306'])).rejects.toThrow('nobody listens there')
  })

  it('are found under the name by which one is known already, also where no other server tells of that', async () => {
    const [server] = [...treeOf(1).values()]
    const lookAt = async (): Promise<SeenServer | Error> => server ?? new Error('nobody listens there')
    const knownAt = (seen: SeenServer) => (seen === server ? { host: '10.0.0.1', port: 3306 } : undefined)
    const find = async (host: string) =>
      discover({ host, port: 3306 }, { cluster: 'shop', mysql, tell: () => undefined, lookAt, knownAt })
    expect((await find('db.prod.svc')).hosts).toMatchObject([{ host: 'db.prod.svc', alsoKnownAs: ['10.0.0.1:3306'] }])
    expect((await find('10.0.0.1')).hosts).toMatchObject([{ host: '10.0.0.1', alsoKnownAs: [] }])
  })
})

import { describe, expect, it } from 'vitest'
import { ScriptedClient } from '#controller-runtime/testing-kube-client.ts'
import { labels } from '../names/names.ts'
import { epochOf } from './epoch.ts'
import { moveRoles, roleOf, type Roles } from './role-labels.ts'
import { pods, type Pod } from '../pods/stateful-set.ts'
import { aPod } from '../testing.ts'

const inEpoch2: Roles = { epoch: 2, primary: 'shop-1', replicas: ['shop-0', 'shop-2'] }
const before = [
  aPod(0, { role: 'primary', epoch: '1' }),
  aPod(1, { role: 'replica', epoch: '1' }),
  aPod(2, { role: 'replica', epoch: '1' }),
]

/** The pods as the API server has them, and every role as it was after each write. */
async function cluster(present: readonly Pod[]) {
  const client = new ScriptedClient()
  for (const pod of present) await client.create(pods, pod)
  const stored = (): readonly Pod[] => client.state.all('v1/pods') as readonly object[] as readonly Pod[]
  const primaries: string[][] = []
  const tell = client.state.onEvent
  client.state.onEvent = (event) => {
    tell(event)
    primaries.push(
      stored()
        .filter((pod) => roleOf(pod) === 'primary')
        .map(({ metadata }) => metadata.name),
    )
  }
  return { client, stored, primaries, roles: () => stored().map((pod) => roleOf(pod) ?? 'none') }
}

describe('role labels', () => {
  it('go off the old primary before they go on the new one: never are there two', async () => {
    const { client, stored, primaries, roles } = await cluster(before)
    expect(await moveRoles(client, stored(), inEpoch2)).toBe(true)
    expect(roles()).toEqual(['replica', 'primary', 'replica'])
    expect(primaries).toEqual([[], ['shop-1']])
  })

  it('carry the epoch', async () => {
    const { client, stored } = await cluster(before)
    await moveRoles(client, stored(), inEpoch2)
    expect(stored().map(epochOf)).toEqual([2, 2, 1])
  })

  it('are not written where they are right already', async () => {
    const { client, stored } = await cluster(before)
    await moveRoles(client, stored(), inEpoch2)
    client.calls.splice(0)
    expect(await moveRoles(client, stored(), inEpoch2)).toBe(true)
    expect(client.calls).toEqual([])
  })

  it('of a primary that goes on in another epoch say so, so that one who knows an older one cannot take it away', async () => {
    const { client, stored, roles } = await cluster(before)
    await moveRoles(client, stored(), { epoch: 3, primary: 'shop-0', replicas: ['shop-1', 'shop-2'] })
    expect(await moveRoles(client, stored(), inEpoch2)).toBe(false)
    expect(roles()).toEqual(['primary', 'replica', 'replica'])
  })

  it('are left alone by one who knows only an older epoch, also where a pod is new and has none', async () => {
    const { client, stored, roles } = await cluster([aPod(0), aPod(1, { role: 'primary', epoch: '2' })])
    expect(await moveRoles(client, stored(), { epoch: 1, primary: 'shop-0', replicas: ['shop-1'] })).toBe(false)
    expect(roles()).toEqual(['none', 'primary'])
  })

  it('that somebody else changed meanwhile are left alone, and nobody becomes the second primary by that', async () => {
    const { client, stored, roles } = await cluster(before)
    const seen = stored()
    await client.patch(pods, { namespace: 'shops', name: 'shop-0' }, { metadata: { labels: { team: 'payments' } } })
    expect(await moveRoles(client, seen, inEpoch2)).toBe(false)
    expect(roles()).toEqual(['primary', 'replica', 'replica'])
    expect(await moveRoles(client, stored(), inEpoch2)).toBe(true)
    expect(roles()).toEqual(['replica', 'primary', 'replica'])
    expect(stored()[0]?.metadata.labels).toMatchObject({ team: 'payments' })
  })

  it('move on where the old primary’s pod is gone', async () => {
    const { client, stored, roles } = await cluster(before)
    const seen = stored()
    await client.delete(pods, { namespace: 'shops', name: 'shop-0' })
    expect(await moveRoles(client, seen, inEpoch2)).toBe(true)
    expect(roles()).toEqual(['primary', 'replica'])
  })

  it('are taken from one that is neither, and put right where a hand changed them', async () => {
    const { client, stored, roles } = await cluster([
      aPod(0, { role: 'primary', epoch: 'newest' }),
      aPod(1, { role: 'sovereign' }),
      aPod(2, { role: 'replica', epoch: '2' }),
    ])
    await moveRoles(client, stored(), { ...inEpoch2, replicas: ['shop-0'] })
    expect(roles()).toEqual(['replica', 'primary', 'none'])
    expect(stored()[2]?.metadata.labels).not.toHaveProperty(labels.role)
  })

  it('fail loudly where the API server fails', async () => {
    const { client, stored } = await cluster(before)
    client.before = () => {
      throw new Error('etcd is down')
    }
    await expect(moveRoles(client, stored(), inEpoch2)).rejects.toThrow('etcd is down')
  })
})

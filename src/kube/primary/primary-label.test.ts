import { describe, expect, it } from 'vitest'
import type { PrimaryRoute } from '#common/ports/platform.ts'
import { ScriptedClient } from '#controller-runtime/testing-kube-client.ts'
import { PrimaryLabel } from './primary-label.ts'
import { roleOf } from './role-labels.ts'
import { pods, type Pod } from '../pods/stateful-set.ts'
import { aPod } from '../testing.ts'

const route = (epoch: number, ordinal: number): PrimaryRoute => ({
  epoch,
  instance: `shop-${ordinal}`,
  host: `10.0.0.${ordinal + 1}`,
  port: 3306,
})

async function cluster(present: readonly Pod[], committed?: number) {
  const client = new ScriptedClient()
  for (const pod of present) await client.create(pods, pod)
  return {
    client,
    label: new PrimaryLabel(client, { namespace: 'shops', name: 'shop' }, async () => committed),
    roles: () =>
      (client.state.all('v1/pods') as readonly object[] as readonly Pod[]).map((pod) => roleOf(pod) ?? 'none'),
  }
}

describe('the primary’s label as the way to it', () => {
  it('is nowhere before the first primary, and then on its pod', async () => {
    const { label, roles } = await cluster([aPod(0), aPod(1)])
    expect(await label.published()).toBeUndefined()
    expect(await label.publish(route(1, 0))).toBe(true)
    expect(await label.published()).toEqual(route(1, 0))
    expect(roles()).toEqual(['primary', 'none'])
  })

  it('moves, and the replicas stay what they are', async () => {
    const { label, roles } = await cluster([
      aPod(0, { role: 'primary', epoch: '1' }),
      aPod(1, { role: 'replica' }),
      aPod(2, { role: 'replica' }),
    ])
    expect(await label.publish(route(2, 1))).toBe(true)
    expect(roles()).toEqual(['none', 'primary', 'replica'])
  })

  it('is not written again where it is there already', async () => {
    const { client, label } = await cluster([aPod(0, { role: 'primary', epoch: '1' })])
    expect(await label.publish(route(1, 0))).toBe(true)
    expect(client.calls).not.toContain('patch')
  })

  it('is not taken back by a manager that knows an older epoch', async () => {
    const { label, roles } = await cluster([aPod(0), aPod(1, { role: 'primary', epoch: '2' })])
    expect(await label.publish(route(1, 0))).toBe(false)
    expect(roles()).toEqual(['none', 'primary'])
  })

  it('is moved by who knows what the record says past an epoch that is above it: a hand wrote that', async () => {
    const { label, roles } = await cluster([aPod(0, { role: 'primary', epoch: '99' }), aPod(1)], 2)
    expect(await label.publish(route(1, 1))).toBe(false)
    expect(await label.published()).toMatchObject({ epoch: 2, instance: 'shop-0' })
    expect(await label.publish(route(2, 1))).toBe(true)
    expect(roles()).toEqual(['none', 'primary'])
  })

  it('moves although somebody else writes to the pods at that moment', async () => {
    const { client, label, roles } = await cluster([aPod(0, { role: 'primary', epoch: '1' }), aPod(1)])
    let meddled = false
    client.before = (verb) => {
      if (verb !== 'patch' || meddled) return
      meddled = true
      client.state.mergePatch(
        { kind: 'v1/pods', namespace: 'shops', name: 'shop-0', subresource: undefined },
        { metadata: { labels: { team: 'payments' } } },
      )
    }
    expect(await label.publish(route(2, 1))).toBe(true)
    expect(roles()).toEqual(['none', 'primary'])
  })

  it('says so where the pod is not there', async () => {
    const { label } = await cluster([aPod(0)])
    await expect(label.publish(route(1, 2))).rejects.toThrow('pod shop-2 cannot be labelled as primary')
  })
})

import { expect, it } from 'vitest'
import { ScriptedClient } from '#controller-runtime/testing-kube-client.ts'
import { labels } from '../names/names.ts'
import { pods, type Pod } from '../pods/stateful-set.ts'
import { aPod } from '../testing.ts'
import { isRead, moveReads } from './read-labels.ts'

/** The pods as the API server has them, and who gets reads after each write. */
async function cluster(read: readonly string[]) {
  const client = new ScriptedClient()
  for (const ordinal of [0, 1, 2]) {
    const pod = aPod(ordinal)
    const { name } = pod.metadata
    const metadata = { ...pod.metadata, uid: `uid-${ordinal}`, labels: { ...pod.metadata.labels } }
    if (read.includes(name)) metadata.labels[labels.reads] = 'open'
    await client.create(pods, { ...pod, metadata })
  }
  const stored = (): readonly Pod[] => client.state.all('v1/pods') as readonly object[] as readonly Pod[]
  const seen: string[][] = []
  const names = () =>
    stored()
      .filter(isRead)
      .map(({ metadata }) => metadata.name)
  const tell = client.state.onEvent
  client.state.onEvent = (event) => {
    tell(event)
    seen.push(names())
  }
  return { client, stored, seen, names }
}

it('Reads come to another instance before they leave the last: the Service is never empty for that', async () => {
  const { client, stored, seen } = await cluster(['shop-1'])
  await moveReads(client, stored(), ['shop-0'])
  expect(seen).toEqual([['shop-0', 'shop-1'], ['shop-0']])
})

it('Who gets reads already is not written again', async () => {
  const { client, stored } = await cluster(['shop-1', 'shop-2'])
  client.calls.splice(0)
  await moveReads(client, stored(), ['shop-1', 'shop-2'])
  expect(client.calls).toEqual([])
})

it('A pod that is gone, or another one by now, is passed over', async () => {
  const { client, stored, names } = await cluster(['shop-1'])
  const seen = stored()
  await client.delete(pods, { namespace: 'shops', name: 'shop-1' })
  await moveReads(client, seen, ['shop-2'])
  expect(names()).toEqual(['shop-2'])
})

it('Another failure of the API server is told', async () => {
  const { client, stored } = await cluster([])
  client.before = () => {
    throw new Error('etcd is down')
  }
  await expect(moveReads(client, stored(), ['shop-1'])).rejects.toThrow('etcd is down')
})

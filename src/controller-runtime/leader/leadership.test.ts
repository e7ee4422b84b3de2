import { expect, test } from 'vitest'
import { realWorld } from '#common/ports/real-world.ts'
import { createKubeClient } from '../client/http-kube-client.ts'
import { leaderClient, type Leadership } from './leadership.ts'
import { FakeApiServer } from '../testing-api-server.ts'
import { configMap } from '../testing-kinds.ts'
import { configMaps } from '../objects/config-map.ts'

const key = { namespace: 'prod', name: 'shop' }

test('a former leader reads, and writes nothing, also where it lost leadership while its write waited', async () => {
  await using server = await FakeApiServer.start()
  const client = createKubeClient({ connection: server.connection, world: realWorld, userAgent: 'regent/test' })
  let holds = true
  const leadership: Leadership = { lost: new AbortController().signal, holds: () => holds }
  const leader = leaderClient(client, leadership)
  const made = await leader.create(configMaps, configMap('shop'))
  server.misbehave({ answer: { status: 429, retryAfterSeconds: 1 } })
  const waiting = leader.update(configMaps, { ...made, data: { a: '1' } })
  while (server.requests.length < 2) await realWorld.timers.sleep(5)
  holds = false
  const lost = { code: 'REGENT_NOT_LEADER' }
  await expect(waiting).rejects.toMatchObject(lost)
  await expect(leader.create(configMaps, configMap('other'))).rejects.toMatchObject(lost)
  await expect(leader.update(configMaps, made)).rejects.toMatchObject(lost)
  await expect(leader.apply(configMaps, made, { fieldManager: 'regent' })).rejects.toMatchObject(lost)
  await expect(leader.patch(configMaps, key, { data: {} })).rejects.toMatchObject(lost)
  await expect(leader.delete(configMaps, key)).rejects.toMatchObject(lost)
  expect(await leader.get(configMaps, key)).toEqual(made)
  expect(server.requests.map(({ method }) => method)).toEqual(['POST', 'PUT', 'GET'])
  await client.close()
})

test('a write on its way is given up when leadership is lost', async () => {
  await using server = await FakeApiServer.start()
  const client = createKubeClient({ connection: server.connection, world: realWorld, userAgent: 'regent/test' })
  const lost = new AbortController()
  server.misbehave({ answer: 'silence' })
  const waiting = leaderClient(client, { lost: lost.signal, holds: () => true }).create(configMaps, configMap('shop'))
  while (server.requests.length < 1) await realWorld.timers.sleep(5)
  lost.abort(new Error('lost'))
  await expect(waiting).rejects.toThrow('lost')
  await client.close()
})

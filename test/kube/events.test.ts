import { expect, it, onTestFinished } from 'vitest'
import { describeError } from '#common/errors/errors.ts'
import { realWorld } from '#common/ports/real-world.ts'
import type { Happening } from '#controller-runtime/events/event-correlator.ts'
import { EventRecorder, events } from '#controller-runtime/events/event-recorder.ts'
import type { KubeObject } from '#controller-runtime/objects/objects.ts'
import { configMaps } from '#controller-runtime/objects/config-map.ts'
import { ask, clientWith, userOf, type Client } from './clients.ts'
import { patienceMs } from '../support/patience.ts'
import { onApiServer } from './on-api-server.ts'

onApiServer('Events', (api) => {
  const failures: string[] = []
  const recorder = (client: Client = api.client) =>
    new EventRecorder({
      client,
      world: realWorld,
      controller: 'regent.dev/manager',
      instance: 'regent-7d9f-x',
      failed: (_happening, error) => failures.push(describeError(error)),
    })
  const happening = (regarding: KubeObject, more: Partial<Happening> = {}): Happening => ({
    regarding,
    type: 'Normal',
    reason: 'FailedOver',
    action: 'Promote',
    note: 'shop-1 leads',
    ...more,
  })
  const anObject = (name = 'shop') =>
    api.client.create(configMaps, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: api.namespace } })
  const all = async () => (await api.client.list(events, { namespace: api.namespace })).items

  it('are made with everything that describe shows, and what is repeated becomes a series', async () => {
    const shop = await anObject()
    const recording = recorder()
    for (let time = 0; time < 4; time++) {
      recording.record(happening(shop))
      await realWorld.timers.sleep(50)
    }
    await recording.close(patienceMs)
    expect(failures.splice(0)).toEqual([])
    expect(await all()).toMatchObject([
      {
        ...{
          reason: 'FailedOver',
          action: 'Promote',
          note: 'shop-1 leads',
          type: 'Normal',
          reportingController: 'regent.dev/manager',
          reportingInstance: 'regent-7d9f-x',
        },
        regarding: { kind: 'ConfigMap', name: 'shop', namespace: api.namespace, uid: shop.metadata.uid },
        series: { count: 4 },
      },
    ])
    // kubectl reads them in their old form.
    const { body } = await ask(api.access, {
      path: `/api/v1/namespaces/${api.namespace}/events?fieldSelector=involvedObject.uid=${shop.metadata.uid}`,
    })
    expect(body).toMatchObject({
      items: [{ message: 'shop-1 leads', involvedObject: { name: 'shop' }, series: { count: 4 } }],
    })
  })

  it('in a flood, each with another note, end as one that stands for the rest', async () => {
    const shop = await anObject()
    const recording = recorder()
    for (let number = 0; number < 20; number++)
      recording.record(happening(shop, { type: 'Warning', reason: 'Refused', note: `try ${number}` }))
    await recording.close(patienceMs)
    expect(failures.splice(0)).toEqual([])
    const notes = (await all()).map(({ note }) => note)
    expect(notes).toHaveLength(11)
    expect(notes.filter((note) => note.startsWith('(combined from similar events): '))).toHaveLength(1)
  })

  it('of the longest and oddest kind are cut so that the API server takes them', async () => {
    const recording = recorder()
    recording.record(
      happening(await anObject('a'.repeat(253)), {
        note: '🐬'.repeat(600),
        reason: 'R'.repeat(200),
        action: 'ä'.repeat(100),
      }),
    )
    recording.record(
      happening({
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'Role',
        metadata: { name: 'System:Odd_', namespace: api.namespace },
      }),
    )
    await recording.close(patienceMs)
    expect(failures.splice(0)).toEqual([])
    expect(await all()).toHaveLength(2)
  })

  it('about what is in no namespace go to the default one', async () => {
    const recording = recorder()
    const { body } = await ask(api.access, { path: `/api/v1/namespaces/${api.namespace}` })
    recording.record(happening(body as KubeObject))
    await recording.close(patienceMs)
    expect(failures.splice(0)).toEqual([])
    expect(
      (await api.client.list(events, { namespace: 'default', fieldSelector: `regarding.name=${api.namespace}` })).items,
    ).toHaveLength(1)
  })

  it('that may not be written fail nobody, and are told of', async () => {
    const client = clientWith(userOf(api.access, 'nobody'))
    onTestFinished(() => client.close())
    const recording = recorder(client)
    recording.record(happening(await anObject()))
    await recording.close(patienceMs)
    expect(failures.splice(0)).toEqual([
      expect.stringContaining('User "nobody" cannot create resource "events" in API group "events.k8s.io"'),
    ])
  })
})

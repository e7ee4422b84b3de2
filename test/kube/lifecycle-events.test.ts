import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { longestNoteBytes } from '#common/events/event-writing.ts'
import { newEvent, type EventPod, type KubeEvent } from '#agents/lifecycle/events/event-object.ts'
import { kubeEventStore } from '#agents/lifecycle/events/kube-api.ts'
import { probeMessage } from '#agents/lifecycle/events/messages.ts'
import { EventSender } from '#agents/lifecycle/events/sender.ts'
import { realWorld } from '#common/ports/real-world.ts'
import type { KubeObject, Resource } from '#controller-runtime/objects/objects.ts'
import { agentAccount } from './agent-account.ts'
import { onApiServer } from './on-api-server.ts'

const coreEvents: Resource<KubeObject & KubeEvent> = {
  group: '',
  version: 'v1',
  kind: 'Event',
  plural: 'events',
  namespaced: true,
}

onApiServer('Events of a lifecycle agent', (api) => {
  const signal = new AbortController().signal
  const podIn = (namespace: string): EventPod => ({ namespace, name: 'shop-mysql-0', uid: 'an-uid', node: 'worker-1' })
  const message = (text: string): string =>
    probeMessage({
      instance: 'shop-mysql',
      probe: 'roleProbe',
      code: -1,
      output: Buffer.from('primary'),
      message: text,
    })

  /** A pod whose account may do with Events what the documentation says, and nothing else. */
  async function aPod() {
    const { namespace } = api
    const folder = await mkdtemp(join(tmpdir(), 'regent-pod-'))
    await agentAccount(api.client, api.access, { namespace, folder })
    const { hostname, port } = new URL(api.access.server)
    const store = kubeEventStore({ host: hostname, port: Number(port), folder })
    onTestFinished(async () => {
      store.close()
      await rm(folder, { recursive: true })
    })
    return { store, sender: new EventSender(podIn(namespace), store, realWorld) }
  }

  const stored = async () => (await api.client.list(coreEvents, { namespace: api.namespace })).items

  it('are stored once for the same content, and counted', async () => {
    const { sender } = await aPod()
    for (const text of ['timedOut', 'timedOut', 'failed', 'timedOut'])
      await sender.send('roleProbe', message(text), signal)
    const events = [...(await stored())].sort((a, b) => (b.count ?? 0) - (a.count ?? 0))
    expect(events).toMatchObject([
      {
        count: 3,
        message: message('timedOut'),
        reason: 'roleProbe',
        reportingComponent: 'kbagent',
        involvedObject: { name: 'shop-mysql-0', uid: 'an-uid', fieldPath: 'spec.containers{kbagent}' },
      },
      { count: 1, message: message('failed') },
    ])
    expect(Date.parse(events[0]?.eventTime ?? '')).toBeGreaterThan(Date.parse(events[1]?.eventTime ?? ''))
  })

  it('are taken with the longest message that an agent writes, and with no byte more', async () => {
    const { sender, store } = await aPod()
    const text = message('é'.repeat(2_000))
    expect(Buffer.byteLength(text)).toBeGreaterThan(longestNoteBytes - 2)
    await sender.send('roleProbe', text, signal)
    expect((await stored()).map((event) => event['message'])).toEqual([text])
    const longer = newEvent(podIn(api.namespace), { reason: 'roleProbe', text: 'é'.repeat(513) }, Date.now() * 1_000)
    await expect(store.create(longer)).rejects.toMatchObject({
      code: 'REGENT_KUBE_API',
      message: expect.stringContaining('1024') as string,
    })
  })
})

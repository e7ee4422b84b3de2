import { pino } from 'pino'
import { describe, expect, it, onTestFinished } from 'vitest'
import { virtualWorld } from '#common/ports/testing-world.ts'
import { KubeApiError } from '#controller-runtime/client/kube-api-error.ts'
import { Controller } from '#controller-runtime/controller/controller.ts'
import type { Happening } from '#controller-runtime/events/event-correlator.ts'
import { InformerSet } from '#controller-runtime/informers/informer-set.ts'
import { ScriptedClient } from '#controller-runtime/testing-kube-client.ts'
import { contestedMs } from '#kube/pod-events/role-board.ts'
import { configMaps } from '#controller-runtime/objects/config-map.ts'
import { lookAgainMs } from '#kube/pod-events/decide-availability.ts'
import { taskKey } from '#kube/pod-events/task-record.ts'
import { marks, roleLabel } from '#kube/pod-events/marks.ts'
import { podEvents, selections, type PodEvent } from '#kube/pod-events/pod-event.ts'
import {
  aMember,
  anOwner,
  exclusivePrimary,
  microsOf,
  momentOf,
  roleSaid,
  said,
} from '#kube/pod-events/testing-component.ts'
import { pods, statefulSets, type Pod, type StatefulSet } from '#kube/pods/stateful-set.ts'
import { mostInARun, podEventPipeline } from './pod-events.ts'
import { say as sentence } from '#common/sentence/sentence.ts'

const namespace = 'shops'
const annotations = { [marks.roles]: exclusivePrimary }

/** The pipeline of one manager. */
async function startedOn(client: ScriptedClient, leads = true) {
  const world = virtualWorld()
  const told: Happening[] = []
  const logger = pino({ level: 'silent' })
  const informers = new InformerSet({ client, world, logger, resyncMs: 0 })
  const recorder = { record: (happening: Happening) => void told.push(happening) }
  const serverClock = { wallMs: () => Date.UTC(2026, 0, 2) }
  const parts = { client, serverClock, world, log: logger, informers, recorder }
  const pipeline = podEventPipeline({ ...parts, leads: () => leads })
  const stop = new AbortController()
  const failures: unknown[] = []
  void informers.run(stop.signal)
  void new Controller({
    ...pipeline,
    world,
    name: 'podevents',
    failed: ({ error }) => failures.push(error),
  }).run(stop.signal)
  onTestFinished(() => stop.abort(new Error('the test is over')))
  await world.advance(100)
  return { world, told, failures }
}

/** A manager that hears of Events through watches that a test feeds. */
async function aManager({ leads = true, members = [aMember(0), aMember(1)], policy = '' } = {}) {
  const client = new ScriptedClient()
  const set = await client.create(
    statefulSets,
    anOwner({ ...annotations, ...(policy !== '' && { [marks.availability]: policy }) }) as StatefulSet,
  )
  const owned = {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    name: 'db',
    uid: set.metadata.uid ?? '',
    controller: true,
  }
  const made = await Promise.all(
    members.map((pod) => client.create(pods, { ...pod, metadata: { ...pod.metadata, ownerReferences: [owned] } })),
  )
  const started = await startedOn(client, leads)
  const { world } = started
  client.calls.splice(0)

  const uidOf = (name: string) => made.find(({ metadata }) => metadata.name === name)?.metadata.uid ?? ''
  const hear = (event: PodEvent, type: 'ADDED' | 'MODIFIED' = 'ADDED') => {
    const isWatched = ({ options }: { readonly options: { readonly fieldSelector?: string } }) =>
      options.fieldSelector === selections.agents.fieldSelector
    client.watches.find(isWatched)?.send(type, event)
  }
  const podNow = async (ordinal: number) => (await client.get(pods, { namespace, name: `db-${ordinal}` })) as Pod
  return {
    ...started,
    client,
    hear,
    /** The agent of a pod writes an Event, and the watches tell of it. */
    say: async (event: PodEvent): Promise<PodEvent> => {
      const name = event.involvedObject?.name ?? ''
      const written = { ...event, involvedObject: { ...event.involvedObject, uid: uidOf(name) } }
      const stored = await client.create(podEvents, written)
      client.calls.splice(0)
      hear(stored)
      await world.advance(100)
      return stored
    },
    podNow,
    conditionNow: async () => {
      const owner = await client.get(statefulSets, { namespace, name: 'db' })
      return JSON.parse(owner?.metadata.annotations?.[marks.available] ?? 'null') as Record<string, string> | null
    },
    handledOf: async ({ metadata: { name } }: PodEvent) =>
      (await client.get(podEvents, { namespace, name }))?.metadata.annotations?.[marks.handled],
  }
}

const roleIn = ({ metadata }: Pod) => metadata.labels?.[roleLabel]

describe('An Event of an agent', () => {
  it('is handled once: few requests, and none when its mark is heard of', async () => {
    const { say, hear, client, world, podNow, handledOf, told } = await aManager()
    const said = await say(roleSaid(0, 'primary'))
    // The pod, its owner, their pods; the label and the mark; and for the condition the pod and its owner, once.
    expect(client.calls).toEqual(['get', 'get', 'list', 'patch', 'patch', 'get', 'get'])
    expect([roleIn(await podNow(0)), await handledOf(said)]).toEqual(['primary', '1'])
    client.calls.splice(0)
    hear(
      { ...said, metadata: { ...said.metadata, resourceVersion: '99', annotations: { [marks.handled]: '1' } } },
      'MODIFIED',
    )
    await world.advance(1_000)
    expect(client.calls).toEqual([])
    expect(told).toMatchObject([
      {
        type: 'Normal',
        reason: 'RoleChanged',
        note: 'db-0 is primary now',
        regarding: { kind: 'Pod', metadata: { name: 'db-0' } },
      },
    ])
  })

  it('that happens again is handled again', async () => {
    const { say, hear, client, world, podNow, told } = await aManager()
    const said = await say(roleSaid(0, 'primary', { at: 60 }))
    await client.patch(pods, { namespace, name: 'db-0' }, { metadata: { labels: { [roleLabel]: null } } })
    const again = roleSaid(0, 'primary', { at: 120 })
    const handled = { ...said.metadata, resourceVersion: '99', annotations: { [marks.handled]: '1' } }
    hear({ ...said, metadata: handled, count: 2, eventTime: again.eventTime ?? null }, 'MODIFIED')
    await world.advance(100)
    expect(roleIn(await podNow(0))).toBe('primary')
    expect(told.map(({ reason }) => reason)).toEqual(['RoleChanged', 'RoleChanged'])
  })

  it.each<[string, Partial<PodEvent>]>([
    ['another reporter', { reportingComponent: 'kubelet' }],
    ['another reason', { reason: 'somethingElse' }],
    ['another kind', { involvedObject: { kind: 'StatefulSet', name: 'db' } }],
  ])('of %s is left as it is', async (_what, event) => {
    const { client, world, hear } = await aManager()
    const said = { ...roleSaid(0, 'primary'), ...event }
    hear({ ...said, metadata: { ...said.metadata, resourceVersion: '5' } })
    await world.advance(1_000)
    expect(client.calls).toEqual([])
  })

  it('is left alone by a manager that does not lead', async () => {
    const { say, client } = await aManager({ leads: false })
    await say(roleSaid(0, 'primary'))
    expect(client.calls).toEqual([])
  })

  it('is decided on anew where somebody else changed the pod meanwhile', async () => {
    const { say, client, podNow, failures, world } = await aManager()
    let conflicts = 1
    client.before = (verb) => {
      if (verb !== 'patch' || conflicts-- <= 0) return
      throw new KubeApiError(sentence`somebody else was first`, { status: 409, reason: 'Conflict' })
    }
    const said = await say(roleSaid(0, 'primary'))
    await world.advance(100)
    expect([roleIn(await podNow(0)), failures.length, said.count]).toEqual(['primary', 0, 1])
  })

  it('whose handling fails is tried again, later each time, and keeps no other from being handled', async () => {
    const { hear, client, podNow, failures, world } = await aManager()
    const uid = async (ordinal: number) => (await podNow(ordinal)).metadata.uid ?? ''
    const [one, other] = [
      roleSaid(0, 'secondary', { at: 60, uid: await uid(0) }),
      roleSaid(1, 'secondary', { at: 61, uid: await uid(1) }),
    ]
    let isIll = true
    const patch = client.patch.bind(client)
    client.patch = async (resource, key, ...rest) => {
      if (key.name === 'db-1' && isIll) throw new KubeApiError(sentence`not now`, { status: 500 })
      return patch(resource, key, ...rest)
    }
    for (const event of [one, other]) hear({ ...event, metadata: { ...event.metadata, resourceVersion: '5' } })
    await world.advance(100)
    expect([roleIn(await podNow(0)), roleIn(await podNow(1))]).toEqual(['secondary', undefined])
    // At 0, 5, 15, 35 and 75 ms.
    expect(failures).toHaveLength(5)
    isIll = false
    await world.advance(100)
    expect([roleIn(await podNow(1)), failures.length]).toEqual(['secondary', 5])
  })

  it('is one of very many: each is handled, part by part', async () => {
    const { hear, client, podNow, handledOf, world } = await aManager()
    const { uid } = (await podNow(0)).metadata
    const many = await Promise.all(
      Array.from({ length: 3 * mostInARun + 1 }, (_, at) => {
        const event = roleSaid(0, at % 2 === 0 ? 'primary' : 'secondary', { at: 60 + at })
        return client.create(podEvents, { ...event, involvedObject: { ...event.involvedObject, uid: uid ?? '' } })
      }),
    )
    for (const event of many) hear(event)
    await world.advance(1_000)
    expect(new Set(await Promise.all(many.map(handledOf)))).toEqual(new Set(['1']))
    expect(roleIn(await podNow(0))).toBe('primary')
  })

  it('that claims what a healthy peer claimed later is looked at again, and told once', async () => {
    const members = [aMember(0, { role: 'primary', snapshot: microsOf(90) }), aMember(1)]
    const { say, client, world, podNow, handledOf, told } = await aManager({ members })
    const said = await say(roleSaid(1, 'primary', { at: 60 }))
    await world.advance(3 * contestedMs)
    expect(await handledOf(said)).toBeUndefined()
    expect(told.map(({ reason }) => reason)).toEqual(['RoleContested'])
    await client.patch(pods, { namespace, name: 'db-0' }, { metadata: { labels: { [roleLabel]: null } } })
    await world.advance(contestedMs)
    expect([roleIn(await podNow(1)), await handledOf(said)]).toEqual(['primary', '1'])
  })

  it.each(['..', '../secrets/x', ''])(
    'of what can be no pod ("%s") is marked as handled, and nobody is asked',
    async (name) => {
      const { say, handledOf, client } = await aManager()
      const event = roleSaid(0, 'primary')
      const said = await say({ ...event, involvedObject: { ...event.involvedObject, name } })
      const calls = [...client.calls]
      expect([calls, await handledOf(said)]).toEqual([['patch'], '1'])
    },
  )

  it('of a pod that is gone is marked as handled', async () => {
    const { say, handledOf } = await aManager()
    expect(await handledOf(await say(roleSaid(7, 'primary')))).toBe('1')
  })
})

describe('The condition of a component', () => {
  const word = (ordinal: number, { code = 0, at = 0 } = {}) =>
    said(ordinal, 'availableProbe', { instance: 'db', probe: 'availableProbe', code, message: 'no' }, { at })

  it('follows what its pods say, and what they say no longer', async () => {
    const policy = '{"withProbe":{"timeWindowSeconds":60,"condition":{"majority":{"succeed":true}}}}'
    const { say, world, conditionNow, handledOf, told } = await aManager({ policy })
    const first = await say(word(0))
    expect(await conditionNow()).toMatchObject({ status: 'False', reason: 'ProbeCheckFail' })
    await say(word(1, { at: 30 }))
    expect(await conditionNow()).toMatchObject({ status: 'True', reason: 'Available' })
    expect(await handledOf(first)).toBe('1')
    // Nobody says anything any more.
    await world.advance(61_000)
    expect(await conditionNow()).toMatchObject({ status: 'False', reason: 'ProbeCheckFail' })
    expect(told.map(({ reason, regarding: { kind } }) => `${kind} ${reason}`)).toEqual([
      'StatefulSet NotAvailable',
      'StatefulSet Available',
      'StatefulSet NotAvailable',
    ])
  })

  it('follows a role at once, and whatever else becomes of a pod before long', async () => {
    const { say, client, world, conditionNow } = await aManager({ policy: '{"withRole":"primary"}' })
    await say(roleSaid(0, 'secondary', { at: 60 }))
    expect(await conditionNow()).toMatchObject({ status: 'False', reason: 'RoleCheckFail' })
    await say(roleSaid(0, 'primary', { at: 61 }))
    expect(await conditionNow()).toMatchObject({ status: 'True' })
    await client.delete(pods, { namespace, name: 'db-0' })
    await world.advance(lookAgainMs)
    expect(await conditionNow()).toMatchObject({ status: 'False', reason: 'RoleCheckFail' })
  })

  it('is judged by a new leader without a new Event', async () => {
    const { say, client, conditionNow } = await aManager({ policy: '{"withRole":"primary"}' })
    await say(roleSaid(0, 'primary'))
    await client.patch(
      statefulSets,
      { namespace, name: 'db' },
      { metadata: { annotations: { [marks.available]: null } } },
    )
    const next = await startedOn(client)
    await next.world.advance(100)
    expect(await conditionNow()).toMatchObject({ status: 'True' })
  })

  it('is shown of no component that has neither policy nor probe', async () => {
    const { say, conditionNow } = await aManager()
    await say(roleSaid(0, 'primary'))
    expect(await conditionNow()).toBeNull()
  })
})

describe('What a worker says', () => {
  it('changes the record of the component and the status of its replicas', async () => {
    const { say, client } = await aManager()
    const data = { [taskKey]: '[{"instance":"db","task":"newReplica","UID":"t1","replicas":"db-1"}]' }
    const metadata = { name: 'db-env', namespace }
    await client.create(configMaps, { apiVersion: 'v1', kind: 'ConfigMap', metadata, data })
    const worker = { name: 'kbagent-worker', envFrom: [{ configMapRef: { name: 'db-env' } }] }
    await client.patch(pods, { namespace, name: 'db-1' }, { spec: { initContainers: [worker], containers: [] } })
    const message = { instance: 'db', task: 'newReplica', UID: 't1', replica: 'db-1', endTime: momentOf(9), code: 0 }
    await say(said(1, 'task', message))
    expect((await client.get(configMaps, metadata))?.data).toEqual({ [taskKey]: '[]' })
    const status = (await client.get(statefulSets, { namespace, name: 'db' }))?.metadata.annotations
    expect(JSON.parse(status?.[marks.replicasStatus] ?? '')).toMatchObject({
      status: [{ name: 'db-1', provisioned: true, dataLoaded: true }],
    })
  })
})

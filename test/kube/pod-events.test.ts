import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { newEvent } from '#agents/lifecycle/events/event-object.ts'
import { kubeEventStore } from '#agents/lifecycle/events/kube-api.ts'
import { probeMessage, taskMessage } from '#agents/lifecycle/events/messages.ts'
import { EventSender } from '#agents/lifecycle/events/sender.ts'
import { createLogger } from '#common/log/logger.ts'
import { realWorld } from '#common/ports/real-world.ts'
import { Controller } from '#controller-runtime/controller/controller.ts'
import { EventRecorder } from '#controller-runtime/events/event-recorder.ts'
import { InformerSet } from '#controller-runtime/informers/informer-set.ts'
import type { KubeObject, Resource } from '#controller-runtime/objects/objects.ts'
import { configMaps } from '#controller-runtime/objects/config-map.ts'
import type { Owner } from '#kube/pod-events/component.ts'
import { marks, roleLabel } from '#kube/pod-events/marks.ts'
import { isHandled, podEvents, selections, type PodEvent } from '#kube/pod-events/pod-event.ts'
import { taskKey } from '#kube/pod-events/task-record.ts'
import { serviceAccounts } from '#kube/objects/service-account.ts'
import { pods, statefulSets, type Pod } from '#kube/pods/stateful-set.ts'
import { podEventPipeline } from '#manager/kubernetes/pod-events/pod-events.ts'
import { agentAccount } from './agent-account.ts'
import { clientWith, customResourceDefinitions, namespaces, userOf, type Client } from './clients.ts'
import { describeCharts, only, render } from './helm.ts'
import { onApiServer } from './on-api-server.ts'

const soon = { timeout: 20_000, interval: 20 }
const rbac = 'rbac.authorization.k8s.io'
const roles: Resource = { group: rbac, version: 'v1', kind: 'Role', plural: 'roles', namespaced: true }
const bindings: Resource = { ...roles, kind: 'RoleBinding', plural: 'rolebindings' }
const instanceSets: Resource<Owner> = {
  group: 'workloads.kubeblocks.io',
  version: 'v1',
  kind: 'InstanceSet',
  plural: 'instancesets',
  namespaced: true,
}
const exclusive = { [marks.roles]: '[{"name":"primary","isExclusive":true},{"name":"secondary"}]' }

describeCharts('What agents say of their pods', () =>
  onApiServer('to a manager with the rights that its chart gives', (api) => {
    const ends: (() => Promise<unknown>)[] = []
    const writes: string[] = []
    let folder = ''

    async function allow(subject: object, name: string, role: object, namespace = api.namespace): Promise<void> {
      const metadata = { name, namespace }
      await api.client.create(roles, { apiVersion: `${rbac}/v1`, kind: 'Role', ...role, metadata })
      await api.client.create(bindings, {
        apiVersion: `${rbac}/v1`,
        kind: 'RoleBinding',
        metadata,
        subjects: [subject],
        roleRef: { apiGroup: rbac, kind: 'Role', name },
      } as KubeObject)
    }

    const managerName = () => `manager-${api.namespace}`

    /** The manager may do in a namespace what its chart gives. */
    async function letManager(namespace: string): Promise<void> {
      const name = managerName()
      const role = only(await render('regent', { watchNamespaces: [namespace] }), 'Role', 'regent-clusters')
      await allow({ kind: 'User', name, apiGroup: rbac }, name, role, namespace)
    }

    /** The part of a manager that handles Events, as somebody who has no rights but the chart's. */
    async function aManager(): Promise<void> {
      await letManager(api.namespace)
      const plain = clientWith(userOf(api.access, managerName()))
      const patch: Client['patch'] = (resource, key, ...rest) => {
        writes.push(`${resource.kind} ${key.name}`)
        return plain.patch(resource, key, ...rest)
      }
      const client = { ...plain, patch }
      const log = createLogger({ level: 'error', name: 'manager', destination: { write: () => undefined } })
      const parts = { client, world: realWorld }
      const informers = new InformerSet({ ...parts, logger: log, namespaces: [api.namespace] })
      const failed = () => undefined
      const recorder = new EventRecorder({ ...parts, controller: 'regent.dev/manager', instance: 'm1', failed })
      const pipeline = podEventPipeline({
        ...parts,
        serverClock: realWorld.clock,
        log,
        informers,
        recorder,
        leads: () => true,
      })
      const until = new AbortController()
      const runs = [
        informers.run(until.signal),
        new Controller({ ...pipeline, ...parts, name: 'podevents', failed }).run(until.signal),
      ]
      ends.push(async () => {
        await recorder.close(1_000)
        until.abort(new Error('the test is over'))
        await Promise.all(runs)
        await client.close()
      })
    }

    async function credentials(): Promise<void> {
      folder = await mkdtemp(join(tmpdir(), 'regent-agent-'))
      await agentAccount(api.client, api.access, { namespace: api.namespace, folder })
    }

    beforeEach(async () => {
      await Promise.all([aManager(), credentials()])
    })
    afterEach(async () => {
      for (const end of ends.splice(0)) await end()
      writes.splice(0)
      await rm(folder, { recursive: true, force: true })
    })

    const spec = {
      serviceName: 'db',
      replicas: 3,
      selector: { matchLabels: { app: 'db' } },
      template: { metadata: { labels: { app: 'db' } }, spec: { containers: [{ name: 'db', image: 'db:1' }] } },
    }
    const aSet = (annotations: Readonly<Record<string, string>>): Promise<KubeObject> =>
      api.client.create(statefulSets, {
        apiVersion: 'apps/v1',
        kind: 'StatefulSet',
        metadata: { name: 'db', namespace: api.namespace, annotations },
        spec,
      })

    /** A pod of that owner, and the agent in it. */
    async function anAgent(name: string, owner: KubeObject, podSpec: Pod['spec'] = { containers: [] }) {
      const { apiVersion, kind, metadata } = owner
      const ownerReferences = [{ apiVersion, kind, name: metadata.name, uid: metadata.uid ?? '', controller: true }]
      const { namespace } = api
      const account = { serviceAccountName: 'agent', automountServiceAccountToken: false }
      const pod = await api.client.create(pods, {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name, namespace, labels: { app: 'db' }, ownerReferences },
        spec: { ...podSpec, ...account, containers: [{ name: 'db', image: 'db:1' }] },
      })
      const key = { namespace, name }
      const status = { conditions: [{ type: 'Ready', status: 'True' }] }
      await api.client.patch(pods, key, { status }, { subresource: 'status' })
      const { hostname: host, port } = new URL(api.access.server)
      const store = kubeEventStore({ host, port: Number(port), folder })
      ends.push(() => Promise.resolve(store.close()))
      const sender = new EventSender({ namespace, name, uid: pod.metadata.uid ?? '', node: 'n1' }, store, realWorld)
      const send = (reason: string, text: string) => sender.send(reason, text, AbortSignal.timeout(10_000))
      const nothing = Buffer.alloc(0)
      const probe = (action: string, code: 0 | -1, output: Buffer, message: string) =>
        send(action, probeMessage({ instance: 'db', probe: action, code, output, message }))
      return {
        pod,
        is: (role: string) => probe('roleProbe', 0, Buffer.from(`${role}\n`), ''),
        fails: (why: string) => probe('roleProbe', -1, nothing, why),
        answers: () => probe('availableProbe', 0, nothing, ''),
        hasLoaded: (uid: string) => {
          const times = { startMs: realWorld.clock.wallMs() - 1_000, endMs: realWorld.clock.wallMs() }
          const task = { instance: 'db', task: 'newReplica', UID: uid, replica: name, code: 0 } as const
          return send('task', taskMessage({ ...task, ...times, output: nothing, message: '' }))
        },
      }
    }

    const rolesNow = async () =>
      Object.fromEntries(
        (await api.client.list(pods, { namespace: api.namespace })).items.map(({ metadata }) => [
          metadata.name,
          metadata.labels?.[roleLabel],
        ]),
      )
    const ofAgents = selections.agents.fieldSelector
    const eventsNow = async (fieldSelector?: string) =>
      (
        await api.client.list(podEvents, {
          namespace: api.namespace,
          ...(fieldSelector !== undefined && { fieldSelector }),
        })
      ).items
    const saidAs = async (reason: string) => (await eventsNow(`reason=${reason}`)).map(({ message }) => message)

    it('ends in the label of the pod, and off another that had it', async () => {
      const set = await aSet(exclusive)
      const [zero, one] = [await anAgent('db-0', set), await anAgent('db-1', set)]
      await zero.is('primary')
      await one.is('secondary')
      await vi.waitFor(async () => expect(await rolesNow()).toEqual({ 'db-0': 'primary', 'db-1': 'secondary' }), soon)
      await one.is('primary')
      await vi.waitFor(async () => expect(await rolesNow()).toEqual({ 'db-0': undefined, 'db-1': 'primary' }), soon)
      await zero.is('secondary')
      await zero.fails('timedOut')
      await vi.waitFor(async () => {
        expect(await rolesNow()).toEqual({ 'db-0': 'secondary', 'db-1': 'primary' })
        expect(await saidAs('RoleProbeFailed')).toEqual([
          'db-0: its role probe failed, and its label as secondary stays: timedOut',
        ])
      }, soon)
    })

    it('is handled once, again when it is repeated, and what others say is left alone', async () => {
      const zero = await anAgent('db-0', await aSet({}))
      const { name, uid = '' } = zero.pod.metadata
      const others: PodEvent & { readonly reportingInstance: string; readonly action: string; readonly type: string } =
        {
          ...{ apiVersion: 'v1', kind: 'Event', metadata: { name: 'of-others', namespace: api.namespace } },
          involvedObject: { kind: 'Pod', namespace: api.namespace, name, uid } as NonNullable<
            PodEvent['involvedObject']
          >,
          ...{ reason: 'roleProbe', action: 'x', type: 'Normal', count: 1, eventTime: '2026-01-01T00:00:00.000000Z' },
          ...{ reportingComponent: 'somebody', reportingInstance: 'x' },
          message: '{"instance":"db","probe":"roleProbe","code":0,"output":"cHJpbWFyeQ=="}',
        }
      await api.client.create(podEvents, others)
      for (const count of [1, 2]) {
        await api.client.patch(
          pods,
          { namespace: api.namespace, name },
          { metadata: { labels: { [roleLabel]: 'by-hand' } } },
        )
        await zero.is('primary')
        await vi.waitFor(async () => {
          expect((await eventsNow(ofAgents)).map((event) => [event.count, isHandled(event)])).toEqual([[count, true]])
          expect(await rolesNow()).toEqual({ 'db-0': 'primary' })
        }, soon)
      }
      const [said] = await eventsNow(ofAgents)
      expect(writes.filter((write) => write === `Event ${said?.metadata.name ?? ''}`)).toHaveLength(2)
      expect(writes).not.toContain('Event of-others')
      expect((await eventsNow(`metadata.name=of-others`)).map(isHandled)).toEqual([false])
    })

    it('ends in what was said last, whatever comes late, twice, in a burst, or of a pod that is gone', async () => {
      const set = await aSet(exclusive)
      const { pod: gone } = await anAgent('db-0', set)
      await api.client.delete(pods, { namespace: api.namespace, name: 'db-0' }, { gracePeriodSeconds: 0 })
      const both = [(await anAgent('db-0', set)).pod, (await anAgent('db-1', set)).pod] as const
      const startMicros = realWorld.clock.wallMs() * 1_000
      const said = (pod: Pod, role: string, at: number) => {
        const { name, uid = '' } = pod.metadata
        const output = Buffer.from(role)
        const text = probeMessage({ instance: 'db', probe: 'roleProbe', code: 0, output, message: '' })
        const of = { namespace: api.namespace, name, uid, node: 'n1' }
        const event = newEvent(of, { reason: 'roleProbe', text }, startMicros + at)
        return { ...event, metadata: { ...event.metadata, name: `${name}.${at}` } } as unknown as PodEvent
      }
      // They take the role from each other 20 times within two milliseconds.
      const story = Array.from({ length: 20 }, (_, round) => [
        said(both[(round + 1) % 2 === 0 ? 0 : 1], 'secondary', round * 100),
        said(both[round % 2 === 0 ? 0 : 1], 'primary', round * 100 + 1),
      ])
      const late = [said(gone, 'primary', 9_000), ...story.flat()]
      // The same order each time, and far from the one of the story: 17 and the number of events have no common factor.
      const shuffled = late
        .map((event, number) => ({ event, key: (number * 17) % late.length }))
        .sort((a, b) => a.key - b.key)
      await Promise.all(shuffled.map(({ event }) => api.client.create(podEvents, event)))
      const wanted = { 'db-0': 'secondary', 'db-1': 'primary' }
      await vi.waitFor(async () => expect(await rolesNow()).toEqual(wanted), soon)
      // Also a claim that was looked at again, because a peer had claimed the role later, is settled by then.
      const allAreHandled = async (count: number) =>
        expect((await eventsNow(ofAgents)).filter((event) => event.count === count && isHandled(event))).toHaveLength(
          late.length,
        )
      await vi.waitFor(() => allAreHandled(1), soon)
      for (const { metadata } of late)
        await api.client.patch(podEvents, { namespace: api.namespace, name: metadata.name }, { count: 2 })
      await vi.waitFor(() => allAreHandled(2), soon)
      expect(await rolesNow()).toEqual(wanted)
    })

    it('moves nothing in another namespace, whatever the owner reference of a pod says', async () => {
      const { namespace } = api
      const victim = `${namespace}-victim`
      await api.client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: victim } })
      await letManager(victim)
      const account = {
        apiVersion: 'v1',
        kind: 'ServiceAccount',
        metadata: { name: 'default', namespace: victim },
      } as const
      await api.client.create(serviceAccounts, { ...account, automountServiceAccountToken: false })
      const metadata = { name: 'db', namespace: victim, annotations: exclusive }
      const set = await api.client.create(statefulSets, { apiVersion: 'apps/v1', kind: 'StatefulSet', metadata, spec })
      const owned = {
        ...{ apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'db', uid: set.metadata.uid ?? '' },
        controller: true,
      }
      for (const [name, role] of [
        ['db-0', 'primary'],
        ['db-1', 'secondary'],
      ] as const)
        await api.client.create(pods, {
          ...{ apiVersion: 'v1', kind: 'Pod' },
          metadata: { name, namespace: victim, labels: { app: 'db', [roleLabel]: role }, ownerReferences: [owned] },
          spec: { containers: [{ name: 'db', image: 'db:1' }] },
        })
      // An account with rights here alone makes a pod, and speaks as its agent.
      const apiVersion = `apps/v1%2Fnamespaces%2F${victim}%2Fstatefulsets%2Fdb?x=`
      const liar = await anAgent('db-9', { ...set, apiVersion })
      const one = await api.client.get(pods, { namespace: victim, name: 'db-1' })
      const pairs = [{ podName: 'db-1', roleName: 'primary', podUid: one?.metadata.uid }]
      await liar.is(JSON.stringify({ term: '9', PodRoleNamePairs: pairs }))
      const handled = async () => expect((await eventsNow(ofAgents)).map(isHandled)).toEqual([true])
      await vi.waitFor(handled, soon)
      const roles = (await api.client.list(pods, { namespace: victim })).items.map(({ metadata: { name, labels } }) => [
        name,
        labels?.[roleLabel],
      ])
      expect(roles).toEqual([
        ['db-0', 'primary'],
        ['db-1', 'secondary'],
      ])
    })

    it('is understood of agents before 1.0, too', async () => {
      const { pod } = await anAgent('db-0', await aSet(exclusive))
      const { name, uid = '' } = pod.metadata
      const fieldPath = 'spec.containers{lorry}'
      await api.client.create(podEvents, {
        ...{ apiVersion: 'v1', kind: 'Event', metadata: { name: 'of-lorry', namespace: api.namespace } },
        involvedObject: { kind: 'Pod', namespace: api.namespace, name, uid, fieldPath },
        ...{ reason: 'checkRole', type: 'Normal', count: 1, lastTimestamp: '2026-01-01T00:00:00Z' },
        source: { component: 'lorry' },
        message: '{"event":"Success","operation":"checkRole","originalRole":"","role":"Primary"}',
      } as PodEvent)
      await vi.waitFor(async () => expect(await rolesNow()).toEqual({ 'db-0': 'primary' }), soon)
      await vi.waitFor(
        async () => expect((await eventsNow(selections.legacy.fieldSelector)).map(isHandled)).toEqual([true]),
        soon,
      )
    })

    it('makes the condition of the component, by the policy on its owner', async () => {
      const policy = '{"withProbe":{"timeWindowSeconds":60,"condition":{"majority":{"succeed":true}}}}'
      const set = await aSet({ [marks.availability]: policy })
      const agents = [await anAgent('db-0', set), await anAgent('db-1', set)]
      const condition = async () => {
        const owner = await api.client.get(statefulSets, { namespace: api.namespace, name: 'db' })
        const { status, reason } = JSON.parse(owner?.metadata.annotations?.[marks.available] ?? '{}') as Record<
          string,
          string
        >
        return [status, reason]
      }
      await agents[0]?.answers()
      await vi.waitFor(async () => expect(await condition()).toEqual(['False', 'ProbeCheckFail']), soon)
      await agents[1]?.answers()
      await vi.waitFor(async () => {
        expect(await condition()).toEqual(['True', 'Available'])
        expect(await saidAs('Available')).toEqual([
          'db is available: 2 of 3 pods were heard in time, 2 of them with success',
        ])
      }, soon)
    })

    it('labels pods of an InstanceSet by its own roles, and says how far its replicas are', async () => {
      const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } }
      await api.client.create(customResourceDefinitions, {
        apiVersion: 'apiextensions.k8s.io/v1',
        kind: 'CustomResourceDefinition',
        metadata: { name: 'instancesets.workloads.kubeblocks.io' },
        spec: {
          group: instanceSets.group,
          scope: 'Namespaced',
          names: { kind: instanceSets.kind, plural: instanceSets.plural },
          versions: [{ name: 'v1', served: true, storage: true, schema }],
        },
      } as KubeObject)
      await vi.waitFor(() => api.client.list(instanceSets), soon)
      const { namespace } = api
      const set = await api.client.create(instanceSets, {
        apiVersion: 'workloads.kubeblocks.io/v1',
        kind: 'InstanceSet',
        metadata: { name: 'db', namespace },
        spec: { replicas: 2, selector: spec.selector, roles: [{ name: 'Leader', isExclusive: true }] },
      })
      const tasks = [{ instance: 'db', task: 'newReplica', UID: 't1', replicas: 'db-0,db-1', notifyAtFinish: true }]
      const data = { [taskKey]: JSON.stringify(tasks) }
      const metadata = { name: 'db-env', namespace }
      await api.client.create(configMaps, { apiVersion: 'v1', kind: 'ConfigMap', metadata, data })
      const worker = { name: 'kbagent-worker', image: 'db:1', envFrom: [{ configMapRef: { name: 'db-env' } }] }
      const agent = await anAgent('db-1', set, { initContainers: [worker], containers: [] })
      await agent.hasLoaded('t1')
      await agent.is('leader')
      await vi.waitFor(async () => {
        expect(await rolesNow()).toEqual({ 'db-1': 'Leader' })
        expect((await api.client.get(configMaps, metadata))?.data).toEqual({
          [taskKey]: JSON.stringify([{ ...tasks[0], replicas: 'db-0' }]),
        })
        const { annotations = {} } = (await api.client.get(instanceSets, { namespace, name: 'db' }))?.metadata ?? {}
        expect(JSON.parse(annotations[marks.replicasStatus] ?? '{}')).toMatchObject({
          replicas: 2,
          status: [{ name: 'db-1', provisioned: true, dataLoaded: true }],
        })
      }, soon)
    })
  }),
)

import { expect, it } from 'vitest'
import { newEvent } from '#agents/lifecycle/events/event-object.ts'
import { probeMessage } from '#agents/lifecycle/events/messages.ts'
import { asks } from '#kube/injection/marks.ts'
import { marks } from '#kube/pod-events/marks.ts'
import { isHandled, podEvents, selections, type PodEvent } from '#kube/pod-events/pod-event.ts'
import type { Pod } from '#kube/pods/stateful-set.ts'
import { monotonicMs } from '../support/monotonic.ts'
import { withForeignComponent } from './foreign-component.ts'

const told = withForeignComponent({
  name: 'told',
  replicas: 2,
  annotations: {
    [asks.inject]: 'true',
    [asks.open]: 'true',
    [asks.actions]: '[{"name":"roleProbe","exec":{"command":["sh","-c","cat /data/role"]}}]',
    [asks.probes]: '[{"instance":"told","action":"roleProbe","periodSeconds":1}]',
  },
})

async function published(...pods: readonly string[]): Promise<void> {
  const component = told.current
  await component.cluster.until(
    () => `a Service that leads to ${pods.join()}`,
    async () => (await component.published()).join() === pods.join(),
    120_000,
  )
}

it('what a role probe prints is the label of its pod, and a Service that selects by the label follows', async () => {
  const component = told.current
  await component.says(0, 'primary')
  await component.says(1, 'secondary')
  await component.hasRoles('primary', 'secondary')
  await published('told-0')
  const atMs = monotonicMs()
  await component.says(1, 'primary')
  await component.says(0, 'secondary')
  await component.hasRoles('secondary', 'primary')
  process.stderr.write(`    two roles changed: their labels after ${Math.round(monotonicMs() - atMs)} ms\n`)
  await published('told-1')
})

it('agents that are killed while roles change say the right roles after their restart', async () => {
  const component = told.current
  await Promise.all([
    component.says(0, 'primary'),
    component.killAgent(0),
    component.says(1, 'secondary'),
    component.killAgent(1),
  ])
  for (const ordinal of [0, 1])
    await component.cluster.until(
      () => `an agent in told-${ordinal} that was started anew`,
      async () => (await component.restarts(ordinal)) > 0,
      120_000,
    )
  await component.hasRoles('primary', 'secondary')
  await published('told-0')
})

/** Microseconds since 1970. */
const aSecond = 1_000_000

interface Word {
  readonly pod: Pod
  readonly says: string
  readonly atMicros: number
}

let written = 0

/** As today's agents write it, but for its name: what is said anew is another Event here. */
function today({ pod: { metadata, spec }, says, atMicros }: Word): PodEvent {
  const { namespace = '', name, uid = '' } = metadata
  const output = Buffer.from(says)
  const text = probeMessage({ instance: 'told', probe: 'roleProbe', code: 0, output, message: '' })
  const event = newEvent({ namespace, name, uid, node: spec?.nodeName ?? '' }, { reason: 'roleProbe', text }, atMicros)
  return { ...event, metadata: { name: `${name}.${(written += 1)}`, namespace } } as unknown as PodEvent
}

/** As agents before KubeBlocks 1.0 wrote it. Such Events know no more than seconds. */
function formerly({ pod: { metadata }, says, atMicros }: Word): PodEvent {
  const { namespace = '', name, uid = '' } = metadata
  const seconds = `${new Date(atMicros / 1_000).toISOString().slice(0, 19)}Z`
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: `${name}.${(written += 1)}`, namespace },
    involvedObject: { kind: 'Pod', name, uid, fieldPath: 'spec.containers{lorry}', ...{ namespace } },
    reason: 'checkRole',
    message: JSON.stringify({ event: 'Success', operation: 'checkRole', role: says }),
    firstTimestamp: seconds,
    lastTimestamp: seconds,
    count: 1,
  }
}

/** Writes all at once, and waits until all that agents said, early or late, was handled. */
async function write(...events: readonly PodEvent[]): Promise<void> {
  const { client } = told.current.cluster
  await Promise.all(events.map((event) => client.create(podEvents, event)))
  await handled()
}

async function handled(): Promise<void> {
  const { cluster } = told.current
  const open = async (): Promise<readonly PodEvent[]> => {
    const lists = Object.values(selections).map(({ fieldSelector }) =>
      cluster.client.list(podEvents, { namespace: cluster.namespace, fieldSelector }),
    )
    return (await Promise.all(lists)).flatMap(({ items }) => items).filter((event) => !isHandled(event))
  }
  let left = 0
  await cluster.until(
    () => `Events that are all handled; ${left} are not`,
    async () => (left = (await open()).length) === 0,
    180_000,
  )
}

/** A second after all that was said of these pods, in whole seconds. */
function soonAfter(pods: readonly Pod[]): number {
  const versions = pods.map(({ metadata }) => Number(metadata.annotations?.[marks.snapshotVersion]))
  return (Math.ceil(Math.max(...versions) / aSecond) + 1) * aSecond
}

/** An order that is another one than that of time, and the same in each run. */
function scattered<Item>(items: readonly Item[]): readonly Item[] {
  return items.map((_, at) => items[(at * 37) % items.length] as Item)
}

it('Events in a burst, late, twice, of two generations and of pods that are gone end in the right labels', async () => {
  const component = told.current
  const pods = await Promise.all([component.pod(0), component.pod(1)])
  const [zero, one] = pods
  const from = soonAfter(pods)
  // Primaries take turns in each microsecond, and told-1 is the last.
  const burst = Array.from({ length: 60 }, (_, turn): Word => {
    const [pod, isPrimary] = [turn % 2 === 0 ? zero : one, turn % 4 === 0 || turn % 4 === 3]
    return { pod, says: isPrimary ? 'primary' : 'secondary', atMicros: from + aSecond + turn }
  })
  const late = [zero, one].map((pod, at) => formerly({ pod, says: at === 0 ? 'primary' : 'secondary', atMicros: from }))
  const gone = { ...zero, metadata: { ...zero.metadata, uid: '11111111-2222-3333-4444-555555555555' } }
  const ofGone = [today, formerly].map((as) => as({ pod: gone, says: 'primary', atMicros: from + 900 * aSecond }))
  await write(...scattered([...burst.map(today), ...late, ...ofGone]))
  await component.hasRoles('secondary', 'primary')

  const later = from + 2 * aSecond
  await write(
    formerly({ pod: one, says: 'secondary', atMicros: later }),
    formerly({ pod: zero, says: 'primary', atMicros: later }),
  )
  expect(await component.roles(2)).toEqual(['primary', 'secondary'])

  // As an agent's client does that sends once more what it has sent.
  const { client, namespace } = component.cluster
  const { items } = await client.list(podEvents, { namespace, ...selections.agents })
  for (const { metadata, count = 0 } of items)
    await client.patch(podEvents, { namespace, name: metadata.name }, { count: count + 1 })
  await handled()
  expect(await component.roles(2)).toEqual(['primary', 'secondary'])

  const pairs = [zero, one].map(({ metadata }, at) => ({
    podName: metadata.name,
    podUid: metadata.uid,
    roleName: at === 0 ? 'secondary' : 'primary',
  }))
  const snapshot = JSON.stringify({ term: String(later + aSecond), PodRoleNamePairs: pairs })
  await write(formerly({ pod: zero, says: snapshot, atMicros: from }))
  expect(await component.roles(2)).toEqual(['secondary', 'primary'])
})

it('of roles with a version the greatest counts, whenever and in which order they are said', async () => {
  const component = told.current
  const pods = await Promise.all([component.pod(0), component.pod(1)])
  const [zero, one] = pods
  const from = soonAfter(pods)
  await write(
    today({ pod: zero, says: 'primary 9', atMicros: from + aSecond }),
    today({ pod: one, says: 'secondary 9', atMicros: from + aSecond }),
    today({ pod: one, says: 'primary 10', atMicros: from - aSecond }),
    today({ pod: zero, says: 'secondary 10', atMicros: from - aSecond }),
  )
  expect(await component.roles(2)).toEqual(['secondary', 'primary'])
  await write(today({ pod: zero, says: 'primary', atMicros: from + 2 * aSecond }))
  await write(today({ pod: zero, says: 'primary 9', atMicros: from + 3 * aSecond }))
  expect(await component.roles(2)).toEqual(['secondary', 'primary'])
  await published('told-1')
})

import { expect, it } from 'vitest'
import { configMaps } from '#controller-runtime/objects/config-map.ts'
import { asks } from '#kube/injection/marks.ts'
import { marks } from '#kube/pod-events/marks.ts'
import { taskKey } from '#kube/pod-events/task-record.ts'
import { withForeignComponent, type ForeignComponent } from './foreign-component.ts'

/** The source stops half-way until a file is there. The target counts how often it began, and how often it had all. */
const dump = 'cat /data/half; until [ -e /data/go ]; do sleep 0.2; done; cat /data/rest'
const load = 'echo >>/data/begun; cat >/data/partial; echo >>/data/ended; mv /data/partial /data/loaded'
const halfBytes = 8_000_000
const worker = 'kbagent-worker'

const loaded = withForeignComponent({
  name: 'loaded',
  replicas: 1,
  annotations: {
    [asks.inject]: 'true',
    [asks.open]: 'true',
    [asks.configMap]: 'loaded-env',
    [asks.actions]: JSON.stringify([
      { name: 'dataDump', exec: { command: ['sh', '-c', dump] } },
      { name: 'dataLoad', exec: { command: ['sh', '-c', load] } },
    ]),
    [asks.streaming]: 'dataDump,dataLoad',
  },
  environment: { [taskKey]: '[]' },
})

async function tasks(component: ForeignComponent): Promise<unknown> {
  const key = { namespace: component.name, name: 'loaded-env' }
  const record = await component.cluster.client.get(configMaps, key)
  return JSON.parse(record?.data?.[taskKey] ?? '')
}

/** What the owner says of the new replica. */
async function statusOf(component: ForeignComponent): Promise<Readonly<Record<string, unknown>> | undefined> {
  const text = (await component.owner()).metadata.annotations?.[marks.replicasStatus] ?? '{"status":[]}'
  const { status } = JSON.parse(text) as { readonly status: readonly Readonly<Record<string, unknown>>[] }
  return status.find(({ name }) => name === 'loaded-1')
}

/** Waits until a load has begun so often, and the last one is half-way. Nothing may look complete then. */
async function halfLoaded(component: ForeignComponent, times: number): Promise<void> {
  const script = 'wc -l </data/begun; wc -c </data/partial; ls /data'
  let said = ''
  await component.cluster.until(
    () => `load ${times} half-way; there was ${said}`,
    async () => {
      said = await component.exec(1, script, worker)
      const [begun, bytes] = said.split('\n').map(Number)
      return begun === times && bytes === halfBytes
    },
    180_000,
  )
  expect(said.split('\n').slice(2)).toEqual(['begun', 'partial', ''])
}

it('the worker of a new replica loads the data of another, anew where the worker or the source is killed, and the record says so', async () => {
  const component = loaded.current
  const { cluster } = component
  await component.exec(0, `for part in half rest; do head -c ${halfBytes} /dev/urandom >/data/$part; done`)
  const remote = (await component.pod(0)).status?.podIP ?? ''
  const task = {
    instance: 'loaded',
    task: 'newReplica',
    UID: 'scale-out-1',
    replicas: 'loaded-1',
    notifyAtFinish: true,
    reportPeriodSeconds: 15,
    newReplica: { remote, port: 3502, replicas: 'loaded-1' },
  }
  const key = { namespace: component.name, name: 'loaded-env' }
  await cluster.client.patch(configMaps, key, { data: { [taskKey]: JSON.stringify([task]) } })
  await cluster.kubectl('scale', 'statefulset', 'loaded', '--replicas', '2')

  await halfLoaded(component, 1)
  await component.killAgent(1, worker)
  await halfLoaded(component, 2)
  await component.killAgent(0)
  await cluster.until(
    () => 'word of a load that failed',
    async () => String((await statusOf(component))?.['message']).includes('is not whole'),
    120_000,
  )
  await halfLoaded(component, 3)
  expect(await tasks(component)).toEqual([task])
  await cluster.until(
    () => 'word of a load that goes on',
    async () => (await statusOf(component))?.['dataLoaded'] === false,
    120_000,
  )
  expect(await statusOf(component)).toMatchObject({ provisioned: true })

  await component.exec(0, 'touch /data/go')
  await component.ready(2)
  await cluster.until(
    () => 'word of a load that ended',
    async () => (await statusOf(component))?.['dataLoaded'] === true,
    120_000,
  )
  expect(await tasks(component)).toEqual([])
  const sum = (files: string): string => `cat ${files} | sha256sum`
  expect(await component.exec(1, sum('/data/loaded'))).toBe(await component.exec(0, sum('/data/half /data/rest')))
  expect(await component.exec(1, 'wc -l </data/ended')).toBe('1\n')
  expect(await component.restarts(1, worker)).toBeGreaterThanOrEqual(2)
})

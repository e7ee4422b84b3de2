import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished, vi } from 'vitest'
import { keyOf, type KubeObject, type Resource } from '#controller-runtime/objects/objects.ts'
import { commonLabels } from '#kube/names/names.ts'
import { roleLabel } from '#kube/pod-events/marks.ts'
import { isHandled, podEvents, selections, type PodEvent } from '#kube/pod-events/pod-event.ts'
import { pods, statefulSets } from '#kube/pods/stateful-set.ts'
import { serviceAccounts } from '#kube/objects/service-account.ts'
import { secrets } from '#kube/secrets/secrets.ts'
import { namespaces } from './clients.ts'
import { ManagerProcess, prepareForManager } from './manager-process.ts'
import { onOwnApiServer } from './on-api-server.ts'

/** It writes half a gigabyte into etcd, which takes minutes: `npm run test:all` has them. */
const isDue = process.env['REGENT_JUDGE_MEASURES'] === 'true'

/**
 * What a stranger writes, together some three times the heap that the manager may have. Only that is judged: that a
 * multiple of the memory does not end it, not how much it takes.
 */
const heapMb = 128
const counts = { events: 200, secrets: 60, pods: 40 }
/** A list in pages of one or two objects takes its time on a busy machine. */
const soon = { timeout: 240_000, interval: 200 }
const megabyte = 'x'.repeat(1_000_000)

onOwnApiServer('Whatever a stranger writes in one namespace', (api) => {
  const inNamespace = (namespace: string) => {
    const make = (resource: Resource, name: string, labels: object, rest: object): Promise<KubeObject> =>
      api.client.create(resource, {
        apiVersion: resource.group === '' ? resource.version : `${resource.group}/${resource.version}`,
        kind: resource.kind,
        metadata: { name, namespace, labels: labels as Record<string, string> },
        ...rest,
      })
    return {
      make,
      begin: async () => {
        await api.client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
        await make(serviceAccounts, 'default', {}, { automountServiceAccountToken: false })
      },
      /** As the agent of a pod says it; `more` makes it larger. */
      say: (pod: Pick<KubeObject, 'metadata'>, role: string, at: number, more = '') => {
        const { name, uid = '' } = pod.metadata
        const output = Buffer.from(role).toString('base64')
        const involvedObject = { kind: 'Pod', namespace, name, uid }
        const event: Partial<PodEvent> = {
          involvedObject,
          ...{ reason: 'roleProbe', reportingComponent: 'kbagent', count: 1, type: 'Normal' },
          lastTimestamp: new Date(Date.UTC(2026, 0, 1) + at * 1_000).toISOString().replace('.000Z', 'Z'),
          message: JSON.stringify({ instance: 'db', probe: 'roleProbe', code: 0, output, message: more }),
        }
        return make(podEvents, `${name}.${at}`, {}, event)
      },
    }
  }

  it.runIf(isDue)(
    'the manager lives within its memory, and roles elsewhere follow their agents',
    async () => {
      await prepareForManager(api.client)
      const good = inNamespace(`${api.namespace}-good`)
      const evil = inNamespace(`${api.namespace}-evil`)
      for (const one of [good, evil]) await one.begin()
      const selector = { matchLabels: { app: 'db' } }
      const containers = [{ name: 'db', image: 'db:1' }]
      const template = { metadata: { labels: { app: 'db' } }, spec: { containers } }
      const set = await good.make(statefulSets, 'db', {}, { spec: { serviceName: 'db', selector, template } })
      const { apiVersion, kind, metadata } = set
      const owner = { apiVersion, kind, name: metadata.name, uid: metadata.uid ?? '', controller: true }
      const place = keyOf(set).namespace
      const pod = await api.client.create(pods, {
        ...{ apiVersion: 'v1', kind: 'Pod', spec: { containers } },
        metadata: { name: 'db-0', namespace: place, labels: { app: 'db' }, ownerReferences: [owner] },
      })
      await good.say(pod, 'primary', 1)

      const ofRegent = commonLabels('shop')
      const bait = { metadata: { name: 'db-0', uid: 'u' } }
      const flood = [
        ...Array.from({ length: counts.events }, (_, at) => () => evil.say(bait, 'primary', at, megabyte)),
        ...Array.from({ length: counts.secrets }, (_, at) => () => {
          const data = { 'tls.crt': Buffer.from(megabyte).toString('base64') }
          return evil.make(secrets, `s${at}-ca`, ofRegent, { data })
        }),
        ...Array.from({ length: counts.pods }, (_, at) => () => {
          const env = [{ name: 'MUCH', value: megabyte }]
          return evil.make(pods, `p${at}`, ofRegent, { spec: { containers: [{ ...containers[0], env }] } })
        }),
      ]
      const write = async (all: readonly (() => Promise<unknown>)[]) => {
        for (let at = 0; at < all.length; at += 8) await Promise.all(all.slice(at, at + 8).map((one) => one()))
      }
      await write(flood)

      const folder = await mkdtemp(join(tmpdir(), 'regent-manager-'))
      onTestFinished(() => rm(folder, { recursive: true, force: true }))
      const manager = await ManagerProcess.start(folder, api.access, [`--max-old-space-size=${heapMb}`])
      onTestFinished(() => manager.end())
      const role = async () => (await api.client.get(pods, keyOf(pod)))?.metadata.labels?.[roleLabel]
      await vi.waitFor(async () => expect(await role()).toBe('primary'), soon)
      // The same while it watches.
      await write(Array.from({ length: counts.events }, (_, at) => () => evil.say(bait, 'x', 1_000 + at, megabyte)))
      await good.say(pod, 'secondary', 2)
      await vi.waitFor(async () => expect(await role()).toBe('secondary'), soon)
      expect(manager.isAlive).toBe(true)
      const log = await readFile(join(folder, 'manager.log'), 'utf8')
      expect(log).toMatch(/Event \S+-evil\/db-0\.\d+ is larger than 32 KiB \(about \d+ KiB\) and is not read/)
      // Nobody says of an unread one that it was handled.
      const { items } = await api.client.list(podEvents, { namespace: place, ...fieldsOf(selections.agents) })
      expect(items.map(isHandled)).toEqual([true, true])
    },
    600_000,
  )
})

function fieldsOf({ fieldSelector }: { readonly fieldSelector: string }) {
  return { fieldSelector }
}

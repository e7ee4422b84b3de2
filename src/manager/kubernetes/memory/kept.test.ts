import { expect, it, onTestFinished } from 'vitest'
import { createLogger } from '#common/log/logger.ts'
import { virtualWorld } from '#common/ports/testing-world.ts'
import { AnswerTooLarge } from '#controller-runtime/client/kube-api-error.ts'
import type { KubeClient, ListOptions, ObjectList } from '#controller-runtime/client/kube-client.ts'
import { roughBytes } from '#controller-runtime/client/namespace-budget.ts'
import { Informer, type InformerParts } from '#controller-runtime/informers/informer.ts'
import { apiVersionOf, type KubeObject, type Resource } from '#controller-runtime/objects/objects.ts'
import { eventBudget, keptEvent } from '#kube/pod-events/kept-event.ts'
import { podEvents } from '#kube/pod-events/pod-event.ts'
import { pods } from '#kube/pods/stateful-set.ts'
import { secrets } from '#kube/secrets/secrets.ts'
import { keptPod, keptSecret } from './kept.ts'
import { say } from '#common/sentence/sentence.ts'

const megabyte = 'x'.repeat(1_000_000)
const mebibyte = 1024 * 1024
const nothing = new Promise<never>(() => undefined)

/** What a stranger wrote, and one object of another namespace after that: made page by page, as it is asked for. */
function aFlood(resource: Resource, count: number, rest: object) {
  const pages: number[] = []
  const object = (at: number): KubeObject => ({
    ...{ apiVersion: apiVersionOf(resource), kind: resource.kind },
    metadata: {
      name: `o${at}-ca`,
      namespace: at < count ? 'evil' : 'good',
      uid: `u${at}`,
      resourceVersion: `${at + 1}`,
    },
    ...(at < count && rest),
  })
  const list: KubeClient['list'] = async <Kind extends KubeObject>(_: unknown, options: ListOptions = {}) => {
    const { limit = Infinity, mostBytes = Infinity, resourceVersion, continue: token = '0' } = options
    const begin = Number(token)
    // What the API server has in its cache comes in one piece.
    const end = resourceVersion === '0' ? count + 1 : Math.min(count + 1, begin + limit)
    const bytes = (end - begin) * megabyte.length
    if (bytes > mostBytes) throw new AnswerTooLarge(say`GET`, mostBytes)
    pages.push(bytes)
    const items = Array.from({ length: end - begin }, (_one, at) => object(begin + at)) as unknown as Kind[]
    return { items, resourceVersion: '1', ...(end <= count && { continue: `${end}` }) } satisfies ObjectList<Kind>
  }
  const watch = () => ({ [Symbol.asyncIterator]: () => ({ next: () => nothing }) })
  return { pages, client: { list, watch } }
}

async function readBy<Kind extends KubeObject>(
  parts: Pick<InformerParts<Kind>, 'client' | 'resource' | 'keep' | 'budget'>,
) {
  const stop = new AbortController()
  onTestFinished(() => stop.abort())
  const logger = createLogger({ level: 'fatal', name: 'manager' })
  const informer = new Informer<Kind>({ ...parts, world: virtualWorld(), logger, resyncMs: 0 })
  void informer.run(stop.signal)
  await informer.synced()
  return informer
}

const flooded = { spec: { containers: [{ name: 'db', env: [{ name: 'MUCH', value: megabyte }] }] } }
const said = { reason: 'roleProbe', reportingComponent: 'kbagent' }

it.each<[string, number, () => Promise<readonly [Informer<KubeObject>, readonly number[]]>]>([
  [
    '20,000 pods of 1 MB take 32 MiB',
    32,
    async () => {
      const { client, pages } = aFlood(pods, 20_000, flooded)
      return [await readBy({ client, resource: pods, keep: keptPod }), pages]
    },
  ],
  [
    '2,000 Secrets of 1 MB take 32 MiB',
    32,
    async () => {
      const { client, pages } = aFlood(secrets, 2_000, { data: { 'tls.crt': megabyte } })
      return [await readBy({ client, resource: secrets, keep: keptSecret }), pages]
    },
  ],
  [
    '5,000 Events of 1 MB take 4 MiB',
    4,
    async () => {
      const { client, pages } = aFlood(podEvents, 5_000, { ...said, message: megabyte })
      return [await readBy({ client, resource: podEvents, keep: keptEvent, budget: eventBudget }), pages]
    },
  ],
])('Of what a stranger writes, %s of a manager at most, and nothing of what is elsewhere', async (_, most, read) => {
  const [informer, pages] = await read()
  expect(roughBytes(informer.list('evil'))).toBeLessThanOrEqual(most * mebibyte)
  expect(informer.list('good')).toHaveLength(1)
  expect(Math.max(...pages)).toBeLessThanOrEqual(4 * mebibyte)
})

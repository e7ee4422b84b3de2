import { expect, it } from 'vitest'
import { AnswerTooLarge } from './kube-api-error.ts'
import type { KubeClient, ListOptions, ObjectList } from './kube-client.ts'
import { listInPages } from './list-pages.ts'
import type { KubeObject } from '../objects/objects.ts'
import { configMap } from '../testing-kinds.ts'
import { configMaps, type ConfigMap } from '../objects/config-map.ts'
import { say } from '#common/sentence/sentence.ts'

/** An API server with objects of these sizes, in MB. From its cache it gives all at once, whatever limit is given. */
function aServer(sizes: readonly number[]) {
  const asked: ListOptions[] = []
  const list: KubeClient['list'] = async <Kind extends KubeObject>(_: unknown, options: ListOptions = {}) => {
    asked.push(options)
    const { limit = Infinity, mostBytes = 32 * 1024 * 1024, resourceVersion, continue: token = '0' } = options
    const begin = Number(token)
    const end = resourceVersion === '0' ? sizes.length : Math.min(sizes.length, begin + limit)
    const bytes = sizes.slice(begin, end).reduce((sum, size) => sum + size * 1024 * 1024, 0)
    if (bytes > mostBytes) throw new AnswerTooLarge(say`GET`, mostBytes)
    const items = sizes.slice(begin, end).map((_size, at) => configMap(`c${begin + at}`, { text: 'much' }))
    const more = end < sizes.length ? { continue: String(end) } : {}
    return { items: items as unknown as Kind[], resourceVersion: `v${begin}`, ...more } satisfies ObjectList<Kind>
  }
  return { asked, client: { list } }
}

const names = ({ objects }: { readonly objects: readonly ConfigMap[] }) => objects.map(({ metadata }) => metadata.name)

it('What is small comes in one request, from the cache of the API server', async () => {
  const { asked, client } = aServer(Array.from({ length: 400 }, () => 0.001))
  const pages = await listInPages(client, configMaps, { resourceVersion: '0', labelSelector: 'a=b' })
  expect([pages.objects.length, pages.resourceVersion, asked.length]).toEqual([400, 'v0', 1])
  expect(asked[0]).toMatchObject({ resourceVersion: '0', limit: 500, labelSelector: 'a=b' })
})

it('What strangers made large comes in pages that fit, all of it and once, from the version of the first', async () => {
  const sizes = Array.from({ length: 300 }, (_, at) => (at < 40 ? 1.3 : 0.01))
  const { asked, client } = aServer(sizes)
  const pages = await listInPages(client, configMaps, { resourceVersion: '0' })
  expect(names(pages)).toEqual(sizes.map((_, at) => `c${at}`))
  expect(pages.resourceVersion).toBe('v0')
  expect(asked.length).toBeLessThan(60)
  expect(asked.filter((options) => 'continue' in options).every((options) => !('resourceVersion' in options))).toBe(
    true,
  )
})

it('An object larger than a page comes alone', async () => {
  const { client } = aServer([1, 20, 1])
  expect(names(await listInPages(client, configMaps))).toEqual(['c0', 'c1', 'c2'])
})

it('What is too large alone is an error', async () => {
  const { client } = aServer([1, 40])
  await expect(listInPages(client, configMaps)).rejects.toBeInstanceOf(AnswerTooLarge)
})

it('Only what is kept of an object is kept', async () => {
  const keep = ({ apiVersion, kind, metadata }: ConfigMap): ConfigMap => ({ apiVersion, kind, metadata })
  const { objects } = await listInPages(aServer([1]).client, configMaps, { keep })
  expect(objects).toEqual([{ apiVersion: 'v1', kind: 'ConfigMap', metadata: configMap('c0').metadata }])
})

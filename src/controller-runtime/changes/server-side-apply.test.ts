import { expect, it } from 'vitest'
import type { ApplyOptions, KubeClient } from '../client/kube-client.ts'
import type { KubeObject } from '../objects/objects.ts'
import { applyObject, applyStatus } from './server-side-apply.ts'
import { node, nodes, widget, widgets } from '../testing-objects.ts'

interface Sent {
  readonly object: unknown
  readonly options: ApplyOptions
}

/** Remembers what was to be sent. */
function remembering(sent: Sent[]): Pick<KubeClient, 'apply'> {
  return {
    apply: async (_resource, object, options) => {
      sent.push({ object, options })
      return object as never
    },
  }
}

const as = { fieldManager: 'regent' }

it('What the API server sets itself is not sent, and neither is the status', async () => {
  const sent: Sent[] = []
  const read = {
    ...widget('a', {
      resourceVersion: '7',
      generation: 3,
      creationTimestamp: '2026-01-01T00:00:00Z',
      labels: { a: '1' },
    }),
    spec: { size: 3 },
    status: { ready: true },
  }
  const managed = { ...read, metadata: { ...read.metadata, managedFields: [{ manager: 'kubectl' }] } }
  await applyObject(remembering(sent), widgets, managed, as)
  expect(sent[0]?.object).toEqual({
    apiVersion: 'example.org/v1',
    kind: 'Widget',
    metadata: { name: 'a', namespace: 'shop', uid: 'uid-a', labels: { a: '1' } },
    spec: { size: 3 },
  })
})

it('Fields that others set otherwise become ours unless told not to', async () => {
  const sent: Sent[] = []
  await applyObject(remembering(sent), widgets, widget('a'), as)
  await applyObject(remembering(sent), widgets, widget('a'), { ...as, force: false })
  expect(sent.map((each) => each.options)).toEqual([
    { fieldManager: 'regent', force: true },
    { fieldManager: 'regent', force: false },
  ])
})

it('A status is sent alone, to its own resource', async () => {
  const sent: Sent[] = []
  const whole = { ...widget('a', { labels: { a: '1' } }), spec: { size: 3 }, status: { ready: true } }
  await applyStatus(remembering(sent), widgets, whole, as)
  expect(sent).toEqual([
    {
      object: {
        apiVersion: 'example.org/v1',
        kind: 'Widget',
        metadata: { name: 'a', namespace: 'shop', uid: 'uid-a' },
        status: { ready: true },
      },
      options: { fieldManager: 'regent', force: true, subresource: 'status' },
    },
  ])
})

it('An intent of another kind, another version, or in the wrong kind of place is refused before anything is sent', async () => {
  const sent: Sent[] = []
  const client = remembering(sent)
  const { namespace: _namespace, ...nowhere } = widget('a').metadata
  const refused: readonly (readonly [Promise<KubeObject>, string])[] = [
    [applyObject(client, nodes, widget('a'), as), 'Widget a of example.org/v1 cannot be applied as Node of v1'],
    [
      applyObject(client, widgets, { ...widget('a'), apiVersion: 'example.org/v2' }, as),
      'cannot be applied as Widget of example.org/v1',
    ],
    [applyObject(client, widgets, { ...widget('a'), metadata: nowhere }, as), 'Widget a needs a namespace'],
    [applyObject(client, nodes, node('n', { namespace: 'shop' }), as), 'Node n is in no namespace, but says shop'],
  ]
  for (const [work, words] of refused) await expect(work).rejects.toThrow(words)
  expect(sent).toEqual([])
})

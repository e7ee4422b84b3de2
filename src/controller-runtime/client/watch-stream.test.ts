import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { KubeApiError } from './kube-api-error.ts'
import type { WatchEvent } from './kube-client.ts'
import { configMaps, type ConfigMap } from '../objects/config-map.ts'
import { watchEvents } from './watch-stream.ts'

async function read(chunks: readonly Uint8Array[]): Promise<readonly WatchEvent<ConfigMap>[]> {
  async function* body(): AsyncGenerator<Uint8Array> {
    yield* chunks
  }
  const events: WatchEvent<ConfigMap>[] = []
  for await (const event of watchEvents(configMaps, body())) events.push(event)
  return events
}

function text(...lines: readonly string[]): readonly Uint8Array[] {
  return [Buffer.from(lines.join(''))]
}

const added = (name: string): object => ({ type: 'ADDED', object: { metadata: { name, resourceVersion: '1' } } })

test('events are the same however the bytes are cut, also inside a character', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.string({ unit: 'grapheme' }), { maxLength: 5 }),
      fc.array(fc.nat(400), { maxLength: 12 }),
      async (names, cuts) => {
        const bytes = Buffer.from(names.map((name) => `${JSON.stringify(added(name))}\n`).join(''))
        const at = [...new Set([0, ...cuts.filter((cut) => cut < bytes.length), bytes.length])].sort((a, b) => a - b)
        const events = await read(at.slice(1).map((end, index) => bytes.subarray(at[index], end)))
        expect(events.map((event) => (event.type === 'BOOKMARK' ? '' : event.object.metadata.name))).toEqual(names)
      },
    ),
  )
})

test('an object that does not say its kind gets it from the watch', async () => {
  const [event] = await read(text(`${JSON.stringify(added('a'))}\n`))
  expect(event).toMatchObject({ object: { apiVersion: 'v1', kind: 'ConfigMap' } })
})

test('an ERROR event is the API server’s refusal, with how long to wait', async () => {
  const line = JSON.stringify({
    type: 'ERROR',
    object: {
      kind: 'Status',
      code: 429,
      reason: 'TooManyRequests',
      message: 'slow down',
      details: { retryAfterSeconds: 3 },
    },
  })
  const error = await read(text(line, '\n')).catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(KubeApiError)
  expect(error).toMatchObject({
    status: 429,
    reason: 'TooManyRequests',
    retryAfterMs: 3_000,
    message: expect.stringContaining('slow down') as string,
  })
})

test.each([
  ['no JSON', '<html>\n'],
  ['JSON that is no event', '17\n'],
  ['an unknown type', '{"type":"CHANGED","object":{"metadata":{"name":"a"}}}\n'],
  ['an event without an object', '{"type":"ADDED"}\n'],
  ['a bookmark without a version', '{"type":"BOOKMARK","object":{"metadata":{}}}\n'],
  ['half an event', '{"type":"ADDED","object"'],
])('%s is an error, so that nothing is lost in silence', async (_, line) => {
  await expect(read(text(line))).rejects.toMatchObject({
    code: 'REGENT_KUBE_API',
    message: expect.stringContaining('damaged') as string,
  })
})

test('blank lines and an end after a whole event are no error', async () => {
  expect(await read(text('\n', `${JSON.stringify(added('a'))}\n`, '\r\n'))).toHaveLength(1)
})

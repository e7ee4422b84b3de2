import { expect, it } from 'vitest'
import { ApiClient } from '#cli/connection/api-client.ts'
import { followRecord } from './manager-stream.ts'
import type { ManagerWord } from './manager-word.ts'

const state = 'event: state\ndata: {"name":"shop","epoch":3,"primary":"shop-1","instances":[]}\n\n'

/** A manager that says how the cluster is, and from then on only what `after` writes. */
function aManager(after: (say: (text: string) => void) => void): ApiClient {
  return new ApiClient({
    url: 'http://manager',
    token: 'token',
    fetch: async (_, { signal }) => {
      const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
      const writer = writable.getWriter()
      const write = (text: string): void => void writer.write(new TextEncoder().encode(text)).catch(() => undefined)
      signal?.addEventListener('abort', () => void writer.abort(signal.reason).catch(() => undefined))
      write(state)
      after(write)
      return new Response(readable)
    },
  })
}

/** What is heard of the manager, until there are so many words. */
async function heardOf(manager: ApiClient, count: number, silentMs: number): Promise<readonly (string | null)[]> {
  const words: (string | null)[] = []
  const over = new AbortController()
  const heard = (word: ManagerWord | null): void => {
    words.push(word?.primary ?? null)
    if (words.length >= count) over.abort()
  }
  await followRecord(async () => manager, 'shop', { signal: over.signal, heard, warn: () => undefined, silentMs })
  return words.slice(0, count)
}

it('A manager that says nothing any more is not heard: it may be cut off, and nobody closes the connection', async () => {
  expect(
    await heardOf(
      aManager(() => undefined),
      3,
      50,
    ),
  ).toEqual(['shop-1', null, 'shop-1'])
})

it('A manager of a cluster where nothing happens is heard by its heartbeat', async () => {
  const beats: NodeJS.Timeout[] = []
  const manager = aManager((say) => {
    beats.push(setInterval(() => say(': heartbeat\n\n'), 5))
    setTimeout(() => say(state), 2_500)
  })
  expect(await heardOf(manager, 2, 2_000)).toEqual(['shop-1', 'shop-1'])
  for (const beat of beats) clearInterval(beat)
})

it('Why no manager is heard is said once for each reason: a token that is refused is no manager outage', async () => {
  const warned: string[] = []
  const over = new AbortController()
  const answers = ['no', 'no', 'wrong token', 'wrong token', 'wrong token']
  const manager = new ApiClient({
    url: 'http://manager',
    token: 'token',
    fetch: async () => {
      const detail = answers.shift()
      if (detail === undefined) over.abort()
      return new Response(JSON.stringify({ code: 'REGENT_UNAUTHORIZED', detail }), { status: 401 })
    },
  })
  const warn = (sentence: unknown) => void warned.push(String(sentence))
  await followRecord(async () => manager, 'shop', { signal: over.signal, heard: () => undefined, warn, againMs: 1 })
  expect(warned).toEqual(['no manager of shop is heard: no', 'no manager of shop is heard: wrong token'])
})

import { createHash } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import { setImmediate as turn } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { MemoryStore } from '#object-store/testing-store.ts'
import type { Manifest } from '../objects/manifest.ts'
import { oneAhead } from '../stream/one-ahead.ts'
import { readParts } from './read-parts.ts'
import { writeParts } from './write-parts.ts'

const key = createHash('sha256').update('a key').digest()
const keyOf = (part: number) => `part-${part}`
const partBytes = 1_048_576
const chunk = Buffer.alloc(32_768, 'a row and another row ')
const chunksAPart = partBytes / chunk.length
const unhandled: unknown[] = []
const note = (error: unknown): void => void unhandled.push(error)

beforeEach(() => process.on('unhandledRejection', note))
afterEach(async () => {
  await turn()
  process.off('unhandledRejection', note)
  expect(unhandled.splice(0)).toEqual([])
})

/** Of this many parts and a bit, each chunk another one; how far it was read is told. */
async function* streamOf(parts: number, seen: (chunks: number) => void = () => undefined) {
  for (let at = 0; at < parts * chunksAPart + 1; at += 1) {
    seen(at + 1)
    const content = Buffer.from(chunk)
    content.writeUInt32BE(at)
    yield content
  }
}

/** Where what comes last in a put is waited for, as a disk is. */
class SlowStore extends MemoryStore {
  readonly settling = new Map<string, () => void>()
  most = 0
  #open = 0

  override async put(key: string, content: AsyncIterable<Uint8Array>): Promise<number> {
    this.most = Math.max(this.most, (this.#open += 1))
    try {
      const bytes = await buffer(content)
      await new Promise<void>((resolve) => this.settling.set(key, resolve))
      this.beforeWrite(key)
      this.objects.set(key, bytes)
      return bytes.length
    } finally {
      this.#open -= 1
    }
  }
}

function written(store: MemoryStore, content: AsyncIterable<Uint8Array>, signal = new AbortController().signal) {
  const progress: number[] = []
  const target = { store, keyOf, key, signal, partBytes }
  const parts = writeParts(content, { ...target, progress: ({ rawBytes }) => progress.push(rawBytes) })
  return { parts, progress }
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await turn()
}

const read = (store: MemoryStore, parts: object) =>
  readParts(parts as Manifest, { store, keyOf, key, signal: new AbortController().signal })

describe('The parts of a backup', () => {
  it('are sent while the one before is made durable, two at a time, and stand in their order', async () => {
    const store = new SlowStore()
    let readChunks = 0
    const { parts, progress } = written(
      store,
      streamOf(3, (chunks) => (readChunks = chunks)),
    )
    parts.catch(() => undefined)
    await until(() => store.settling.has('part-2'))
    for (let each = 0; each < 50; each += 1) await turn()
    expect([store.settling.has('part-3'), readChunks <= 2 * chunksAPart + 1]).toEqual([false, true])
    // The second one is durable first.
    store.settling.get('part-2')?.()
    await until(() => store.objects.has('part-2'))
    expect(progress).toEqual([])
    store.settling.get('part-1')?.()
    for (const each of ['part-3', 'part-4']) {
      await until(() => store.settling.has(each))
      store.settling.get(each)?.()
    }
    const made = await parts
    expect(made.parts.map(({ name }) => name)).toEqual(['part-000001', 'part-000002', 'part-000003', 'part-000004'])
    expect(made.parts.map(({ rawBytes }) => rawBytes)).toEqual([partBytes, partBytes, partBytes, chunk.length])
    expect(progress).toEqual([1, 2, 3].map((each) => each * partBytes).concat(made.rawBytes))
    expect(store.most).toBe(2)
    const hash = createHash('sha256')
    for await (const each of streamOf(3)) hash.update(each)
    expect(made.sha256).toBe(hash.digest('hex'))
    let bytes = 0
    for await (const each of read(store, made)) bytes += each.length
    expect(bytes).toBe(made.rawBytes)
  })

  it('end with the first that fails, and nothing is written after that is told', async () => {
    const store = new SlowStore()
    store.beforeWrite = (each) => {
      if (each === 'part-1') throw new Error('the store is full')
    }
    const { parts } = written(store, streamOf(9))
    const told = parts.catch((error: unknown) => error)
    await until(() => store.settling.has('part-2'))
    store.settling.get('part-1')?.()
    let isTold = false
    void told.then(() => (isTold = true))
    for (let each = 0; each < 50; each += 1) await turn()
    expect(isTold).toBe(false)
    store.settling.get('part-2')?.()
    expect(await told).toMatchObject({ message: 'the store is full' })
    expect([...store.settling.keys()]).toEqual(['part-1', 'part-2'])
  })

  it('end with the failure of their stream, and with the reason of a signal', async () => {
    async function* broken(): AsyncGenerator<Uint8Array> {
      yield* streamOf(1)
      throw new Error('the copy broke off')
    }
    await expect(written(new MemoryStore(), broken()).parts).rejects.toThrow('the copy broke off')
    const stop = new AbortController()
    const stopping = streamOf(9, (chunks) => {
      if (chunks === chunksAPart + 5) stop.abort(new Error('the agent is stopping'))
    })
    await expect(written(new MemoryStore(), stopping, stop.signal).parts).rejects.toThrow('the agent is stopping')
  })

  it('are read one ahead, and a failure of the next one shows where its turn comes', async () => {
    const store = new MemoryStore()
    const made = await written(store, streamOf(2)).parts
    const asked: string[] = []
    const get = store.get.bind(store)
    store.get = async function* (each) {
      asked.push(each)
      if (each === 'part-2') throw new Error('the store is away')
      yield* get(each)
    }
    let bytes = 0
    const reading = read(store, made)
    bytes += ((await reading.next()).value as Buffer).length
    await turn()
    expect(asked).toEqual(['part-1', 'part-2'])
    const rest = (async () => {
      for await (const each of reading) bytes += each.length
    })()
    await expect(rest).rejects.toThrow('the store is away')
    expect(bytes).toBe(partBytes)
  })

  it('of which the rest is not wanted leave nobody reading', async () => {
    const open = new Set<string>()
    const endless = (what: string) =>
      async function* () {
        open.add(what)
        try {
          for (;;) yield what
        } finally {
          open.delete(what)
        }
      }
    const reading = oneAhead([endless('first'), endless('second'), endless('third')], 2)
    expect((await reading.next()).value).toBe('first')
    expect([...open]).toEqual(['first', 'second'])
    await reading.return()
    await until(() => open.size === 0)
  })
})

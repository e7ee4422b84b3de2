import { beforeEach, describe, expect, it } from 'vitest'
import type { Happening } from './event-correlator.ts'
import { EventRecorder, events, type KubeEvent } from './event-recorder.ts'
import { KubeApiError } from '../client/kube-api-error.ts'
import { ScriptedClient } from '../testing-kube-client.ts'
import { node, widget } from '../testing-objects.ts'
import { virtualWorld, type VirtualWorld } from '#common/ports/testing-world.ts'
import { say } from '#common/sentence/sentence.ts'

let world: VirtualWorld
let client: ScriptedClient
let failures: { note: string; error: unknown }[]
let recorder: EventRecorder

beforeEach(() => {
  world = virtualWorld()
  client = new ScriptedClient()
  failures = []
  recorder = new EventRecorder({
    client,
    world,
    controller: 'example.org/manager',
    instance: 'manager-0',
    failed: ({ note }, error) => failures.push({ note, error }),
  })
})

function record(happening: Partial<Happening> = {}): void {
  recorder.record({
    regarding: widget('a', { resourceVersion: '7' }),
    type: 'Normal',
    reason: 'Moved',
    action: 'Move',
    note: 'it moved',
    ...happening,
  })
}

async function written(): Promise<readonly KubeEvent[]> {
  return (await client.list(events)).items
}

const unreachable = new Error('connection refused')

describe('What happened', () => {
  it('becomes an Event in the namespace of its object, named after it', async () => {
    record({ related: node('n') })
    await world.settle()
    const [event] = await written()
    expect(event?.metadata.name).toMatch(/^a\.[0-9a-f]{19}$/)
    expect(event).toMatchObject({
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: { namespace: 'shop' },
      eventTime: '2026-01-01T00:00:00.000000Z',
      reportingController: 'example.org/manager',
      reportingInstance: 'manager-0',
      type: 'Normal',
      reason: 'Moved',
      action: 'Move',
      note: 'it moved',
      regarding: {
        apiVersion: 'example.org/v1',
        kind: 'Widget',
        name: 'a',
        namespace: 'shop',
        uid: 'uid-a',
        resourceVersion: '7',
      },
      related: { apiVersion: 'v1', kind: 'Node', name: 'n', uid: 'uid-n' },
    })
    expect(event?.series).toBeUndefined()
  })

  it('to an object of the whole cluster is told in the namespace default', async () => {
    record({ regarding: node('n') })
    await world.settle()
    expect((await written())[0]?.metadata.namespace).toBe('default')
  })

  it('again is counted in the same Event', async () => {
    record()
    await world.advance(5_000)
    record()
    await world.advance(5_000)
    record()
    await world.settle()
    const all = await written()
    expect(all).toHaveLength(1)
    expect(all[0]?.series).toEqual({ count: 3, lastObservedTime: '2026-01-01T00:00:10.000000Z' })
  })

  it('again before the first was written is one write with the count', async () => {
    for (let n = 0; n < 5; n++) record()
    await world.settle()
    const all = await written()
    expect(all).toHaveLength(1)
    expect(all[0]?.series?.count).toBe(5)
  })

  it('again after the API server has dropped the Event is told in a new one', async () => {
    record()
    await world.settle()
    const [first] = await written()
    await client.delete(events, { namespace: 'shop', name: first!.metadata.name })
    record()
    await world.settle()
    const all = await written()
    expect(all).toHaveLength(1)
    expect(all[0]?.metadata.name).not.toBe(first?.metadata.name)
    expect(all[0]?.series?.count).toBe(2)
  })

  it('is cut to what the API server takes, no character in two', async () => {
    for (const note of ['x'.repeat(1_024), 'x'.repeat(1_025), `${'x'.repeat(1_020)}€€€`]) record({ note })
    record({ regarding: node(`system:Node-${'n'.repeat(300)}`) })
    await world.settle()
    const all = await written()
    const notes = all.filter((each) => each.metadata.namespace === 'shop').map((each) => each.note)
    expect(notes.sort((a, b) => a.length - b.length)).toEqual([
      `${'x'.repeat(1_020)}…`,
      `${'x'.repeat(1_021)}…`,
      'x'.repeat(1_024),
    ])
    for (const note of notes) expect(Buffer.byteLength(note)).toBeLessThanOrEqual(1_024)
    const name = all.find((each) => each.metadata.namespace === 'default')!.metadata.name
    expect(name).toMatch(/^system-node-n+\.[0-9a-f]{19}$/)
    expect(name).toHaveLength(253)
  })
})

describe('An Event that cannot be written', () => {
  it('is tried twelve times ten seconds apart while nothing answers, then told, and the next one is written', async () => {
    let tries = 0
    client.before = () => {
      if (++tries <= 12) throw unreachable
    }
    record({ note: 'lost' })
    record({ note: 'kept' })
    await world.advance(109_999)
    expect(tries).toBe(11)
    expect(failures).toEqual([])
    await world.advance(1)
    expect(failures).toEqual([{ note: 'lost', error: unreachable }])
    expect((await written()).map((each) => each.note)).toEqual(['kept'])
  })

  it('is not tried again when the API server refuses it, and is told', async () => {
    const refusal = new KubeApiError(say`the namespace is being deleted`, { status: 403 })
    client.before = () => {
      throw refusal
    }
    record()
    await world.advance(1_000_000)
    expect(client.calls).toEqual(['create'])
    expect(failures).toEqual([{ note: 'it moved', error: refusal }])
  })

  it('is tried again when the API server is unwell or busy', async () => {
    const errors = [new KubeApiError(say`unwell`, { status: 503 }), new KubeApiError(say`busy`, { status: 429 })]
    client.before = () => {
      const error = errors.shift()
      if (error) throw error
    }
    record()
    await world.advance(60_000)
    expect(await written()).toHaveLength(1)
    expect(failures).toEqual([])
  })

  it('counts as written where an earlier try was, and only its answer was lost', async () => {
    const create = client.create.bind(client)
    let lost = 0
    client.create = async (resource, object) => {
      const made = await create(resource, object)
      if (lost++ === 0) throw unreachable
      return made
    }
    record()
    await world.advance(60_000)
    expect(await written()).toHaveLength(1)
    expect(failures).toEqual([])
  })

  it('does not pile up: what comes when a thousand wait is told and dropped', async () => {
    client.before = () => new Promise(() => {})
    for (let n = 0; n < 1_010; n++) record({ regarding: widget(`w${n}`), note: `${n}` })
    await world.settle()
    // One is being written.
    expect(failures.map((each) => each.note)).toEqual(Array.from({ length: 9 }, (_, n) => `${1_001 + n}`))
  })
})

describe('A recorder that closes', () => {
  it('writes what waits and takes nothing any more', async () => {
    client.before = () => world.timers.sleep(100)
    record({ note: 'one' })
    record({ note: 'two' })
    const closed = recorder.close(1_000)
    record({ note: 'late' })
    await world.advance(1_000)
    await closed
    client.before = () => undefined
    expect((await written()).map((each) => each.note).sort()).toEqual(['one', 'two'])
    expect(world.pending).toBe(0)
  })

  it('waits no longer than it may, and tells what it could not write', async () => {
    client.before = () => {
      throw unreachable
    }
    record({ note: 'one' })
    record({ note: 'two' })
    let closed = false
    void recorder.close(500).then(() => (closed = true))
    await world.advance(499)
    expect(closed).toBe(false)
    await world.advance(1)
    expect(closed).toBe(true)
    await world.settle()
    expect(failures.map((each) => each.note)).toEqual(['one', 'two'])
  })

  it('does not wait for an answer that never comes', async () => {
    client.before = () => new Promise(() => {})
    record()
    let closed = false
    void recorder.close(500).then(() => (closed = true))
    await world.advance(500)
    expect(closed).toBe(true)
  })

  it('is written a moment later where that is asked for', async () => {
    const patient = new EventRecorder({
      client,
      world,
      controller: 'example.org/manager',
      instance: 'manager-0',
      settleMs: 500,
      failed: () => undefined,
    })
    patient.record({ regarding: widget('a'), type: 'Normal', reason: 'Moved', action: 'Move', note: 'it moved' })
    await world.advance(499)
    expect(await written()).toHaveLength(0)
    await world.advance(1)
    expect(await written()).toHaveLength(1)
  })
})

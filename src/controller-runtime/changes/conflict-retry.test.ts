import { describe, expect, it } from 'vitest'
import { changeObject, patientRetry, retryOnConflict } from './conflict-retry.ts'
import { KubeApiError } from '../client/kube-api-error.ts'
import { keyOf, type KubeObject } from '../objects/objects.ts'
import { ScriptedClient } from '../testing-kube-client.ts'
import { widget, widgets } from '../testing-objects.ts'
import { virtualWorld } from '#common/ports/testing-world.ts'
import { say } from '#common/sentence/sentence.ts'

const conflict = new KubeApiError(say`the object has been modified`, { status: 409, reason: 'Conflict' })

/** Attempts that fail with `errors` one after the other, then succeed. */
function attempts(...errors: readonly Error[]) {
  const world = virtualWorld()
  const atMs: number[] = []
  const attempt = async () => {
    const error = errors[atMs.push(world.clock.monotonicMs()) - 1]
    if (error) throw error
    return 'done'
  }
  return { world, atMs, attempt }
}

/** What the promise came to, given all the time it wants. */
async function outcomeOf(work: Promise<unknown>, world: ReturnType<typeof virtualWorld>): Promise<unknown> {
  const outcome = work.catch((error: unknown) => error)
  await world.advance(10_000)
  return outcome
}

describe('A write that met another’s', () => {
  it('is attempted up to five times, 10 ms apart and a little more', async () => {
    const { world, atMs, attempt } = attempts(...Array.from({ length: 9 }, () => conflict))
    expect(await outcomeOf(retryOnConflict(world, attempt), world)).toBe(conflict)
    expect(atMs).toHaveLength(5)
    for (const [index, time] of atMs.slice(1).entries()) {
      expect(time - atMs[index]!).toBeGreaterThanOrEqual(10)
      expect(time - atMs[index]!).toBeLessThanOrEqual(11)
    }
  })

  it('gives what the first attempt that succeeds gives', async () => {
    const { world, atMs, attempt } = attempts(conflict, conflict)
    expect(await outcomeOf(retryOnConflict(world, attempt), world)).toBe('done')
    expect(atMs).toHaveLength(3)
  })

  it('waits five times longer each time where many write', async () => {
    const { world, atMs, attempt } = attempts(...Array.from({ length: 9 }, () => conflict))
    await outcomeOf(retryOnConflict(world, attempt, { retry: patientRetry }), world)
    const waits = atMs.slice(1).map((time, index) => Math.floor((time - atMs[index]!) / 10) * 10)
    expect(waits.map((ms) => [10, 50, 250].findLast((least) => least <= ms))).toEqual([10, 50, 250])
  })

  it('is given up at once for anything else, also for an object that exists already', async () => {
    for (const other of [
      new KubeApiError(say`it exists`, { status: 409, reason: 'AlreadyExists' }),
      new KubeApiError(say`no`, { status: 403 }),
      new Error('connection refused'),
    ]) {
      const { world, atMs, attempt } = attempts(other)
      expect(await outcomeOf(retryOnConflict(world, attempt), world)).toBe(other)
      expect(atMs).toHaveLength(1)
    }
  })

  it('is not attempted again once the signal is aborted', async () => {
    const { world, atMs, attempt } = attempts(conflict, conflict, conflict)
    const stop = new AbortController()
    const work = retryOnConflict(world, attempt, { signal: stop.signal }).catch((error: unknown) => error)
    await world.settle()
    stop.abort(new Error('stop'))
    await world.advance(1_000)
    expect(await work).toEqual(new Error('stop'))
    expect(atMs).toHaveLength(1)
  })
})

describe('Changing an object', () => {
  function rig() {
    const client = new ScriptedClient()
    const world = virtualWorld()
    const label = (name: string) => (current: KubeObject) => ({
      ...current,
      metadata: { ...current.metadata, labels: { ...current.metadata.labels, [name]: 'yes' } },
    })
    const change = (of: (current: KubeObject) => KubeObject) =>
      outcomeOf(changeObject({ client, world }, { resource: widgets, key: keyOf(widget('a')), change: of }), world)
    return { client, label, change }
  }

  it('keeps what somebody else wrote in between, because it is read and decided anew', async () => {
    const { client, label, change } = rig()
    await client.create(widgets, widget('a'))
    let rivals = 2
    client.before = async (verb) => {
      if (verb !== 'update' || rivals === 0) return
      rivals--
      const current = await client.get(widgets, keyOf(widget('a')))
      client.state.update(
        { kind: 'example.org/v1/widgets', namespace: 'shop', name: 'a', subresource: undefined },
        structuredClone(label(`rival${rivals}`)(current!)) as never,
      )
    }
    expect(await change(label('ours'))).toMatchObject({
      metadata: { labels: { ours: 'yes', rival0: 'yes', rival1: 'yes' } },
    })
  })

  it('writes nothing where nothing is to be done', async () => {
    const { client, change } = rig()
    await client.create(widgets, widget('a'))
    expect(await change((current) => current)).toMatchObject({ metadata: { name: 'a' } })
    expect(client.calls).toEqual(['create', 'get'])
  })

  it('gives nothing where there is no such object, or none any more at the moment of writing', async () => {
    const { client, label, change } = rig()
    expect(await change(label('ours'))).toBeUndefined()
    await client.create(widgets, widget('a'))
    client.before = (verb) => {
      if (verb === 'update')
        client.state.delete({ kind: 'example.org/v1/widgets', namespace: 'shop', name: 'a', subresource: undefined })
    }
    expect(await change(label('ours'))).toBeUndefined()
  })
})

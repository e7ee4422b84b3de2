import { say } from '#common/sentence/sentence.ts'
import { describe, expect, it } from 'vitest'
import { virtualWorld } from '#common/ports/testing-world.ts'
import { refusal, succeeded, type ActionRequest, type ActionResult } from '../wire/calls.ts'
import type { Action } from '../wire/definitions.ts'
import { ActionDesk } from './desk.ts'

const inProgress = refusal('inProgress')

/** A desk whose runs end when the test says so. */
function aDesk(action: Action) {
  const world = virtualWorld()
  const ends: ((result: ActionResult) => void)[] = []
  const asked: string[] = []
  const desk = new ActionDesk({
    actions: new Map([[action.name, action]]),
    clock: world.clock,
    maxRuns: 70,
    check: async () => undefined,
    run: (_action, _request, waiting) => {
      asked.push(waiting)
      const { promise, resolve } = Promise.withResolvers<ActionResult>()
      ends.push(resolve)
      return promise
    },
  })
  const call = (more: Partial<ActionRequest> = {}) => desk.call({ action: action.name, ...more })
  const end = async (at: number, result: ActionResult): Promise<void> => {
    ends[at]?.(result)
    await world.settle()
  }
  return { call, end, world, asked, desk }
}

const exec = { exec: { command: ['true'] } }

describe('a call', () => {
  it('of an action that is not there is answered with its name', async () => {
    const { desk } = aDesk({ name: 'a', ...exec })
    expect(await desk.call({ action: 'foo' })).toEqual(refusal('notDefined', say`foo is not defined`))
    expect(await desk.call({ action: 'constructor' })).toMatchObject({ error: 'notDefined' })
  })

  it('that blocks runs beside any other', async () => {
    const { call, end, asked } = aDesk({ name: 'a', ...exec })
    const [first, second] = [call(), call()]
    await end(1, succeeded(Buffer.from('second')))
    await end(0, succeeded(Buffer.from('first')))
    expect([await first, await second]).toEqual([succeeded(Buffer.from('first')), succeeded(Buffer.from('second'))])
    expect(asked).toEqual(['blocking', 'blocking'])
  })
})

describe('a call whose request is non-blocking', () => {
  const old = { nonBlocking: true } as const

  it('is in progress until it has ended, gives the result once, and runs again', async () => {
    const { call, end, asked } = aDesk({ name: 'a', ...exec })
    expect([await call(old), await call(old)]).toEqual([inProgress, inProgress])
    await end(0, refusal('failed', say`exit code: 1, stderr: x`))
    expect(await call(old)).toEqual(refusal('failed', say`exit code: 1, stderr: x`))
    expect(await call(old)).toEqual(inProgress)
    expect(asked).toEqual(['nonBlocking', 'nonBlocking'])
  })

  it('is never answered with the result of other parameters', async () => {
    const { call, end } = aDesk({ name: 'a', ...exec })
    const [one, two] = [
      { ...old, parameters: { POD: '1' } },
      { ...old, parameters: { POD: '2' } },
    ]
    expect([await call(one), await call(two)]).toEqual([inProgress, inProgress])
    await end(0, succeeded(Buffer.from('1')))
    expect(await call(two)).toEqual(inProgress)
    await end(1, succeeded(Buffer.from('2')))
    expect([await call(two), await call(one)]).toEqual([succeeded(Buffer.from('2')), succeeded(Buffer.from('1'))])
  })

  it('is picked up by its caller however many ran at the same time', async () => {
    const { call, end, world, asked } = aDesk({ name: 'a', ...exec })
    const numbered = (at: number) => call({ ...old, parameters: { AT: String(at) } })
    const all = Array.from({ length: 70 }, (_, at) => at)
    for (const at of all) await numbered(at)
    for (const at of all) {
      await world.advance(1)
      await end(at, succeeded(Buffer.from(String(at))))
    }
    for (const at of all) expect(await numbered(at)).toEqual(succeeded(Buffer.from(String(at))))
    expect(asked).toHaveLength(70)
  })

  it('of a caller that never comes back is forgotten after ten minutes, and while many wait', async () => {
    const { call, end, world, asked } = aDesk({ name: 'a', ...exec })
    await call(old)
    await end(0, succeeded(Buffer.from('old')))
    await world.advance(10 * 60_000 + 1)
    expect(await call(old)).toEqual(inProgress)
    await end(1, succeeded(Buffer.from('new')))
    for (let at = 0; at < 71; at += 1) {
      await call({ ...old, parameters: { AT: String(at) } })
      await world.advance(1)
      await end(at + 2, succeeded(Buffer.from(String(at))))
    }
    expect(await call(old)).toEqual(inProgress)
    expect(asked).toHaveLength(2 + 71 + 1)
    expect(await call({ ...old, parameters: { AT: '70' } })).toEqual(succeeded(Buffer.from('70')))
  })
})

it('No more than so many non-blocking calls run at a time; another is taken once one has ended', async () => {
  const { call, end, asked } = aDesk({ name: 'a', ...exec })
  const numbered = (at: number) => call({ nonBlocking: true, parameters: { AT: String(at) } })
  for (let at = 0; at < 70; at += 1) expect(await numbered(at)).toEqual(inProgress)
  const busy = refusal('busy', say`70 non-blocking calls run already (--max-concurrency)`)
  expect([await numbered(70), await numbered(0)]).toEqual([busy, inProgress])
  await end(3, succeeded(Buffer.from('3')))
  expect([await numbered(70), asked.length]).toEqual([inProgress, 71])
})

describe('a call whose action is non-blocking', () => {
  const action: Action = { name: 'a', ...exec, nonBlocking: true }

  it('gives its result as often as somebody asks, and runs again only when told to', async () => {
    const { call, end, asked } = aDesk(action)
    expect([await call(), await call()]).toEqual([inProgress, inProgress])
    await end(0, refusal('failed', say`exit code: 1, stderr: `))
    expect([await call(), await call()]).toEqual(Array(2).fill(refusal('failed', say`exit code: 1, stderr: `)))
    expect(await call({ rerun: true })).toEqual(inProgress)
    await end(1, succeeded(Buffer.from('again')))
    expect(await call()).toEqual(succeeded(Buffer.from('again')))
    expect(asked).toHaveLength(2)
  })

  it('is busy for another call while it runs, and takes that call afterwards', async () => {
    const { call, end } = aDesk(action)
    const other = { parameters: { POD: '2' } }
    await call()
    expect([await call(other), await call({ rerun: true })]).toEqual([refusal('busy'), refusal('busy')])
    await end(0, succeeded(Buffer.from('1')))
    expect(await call(other)).toEqual(inProgress)
    expect(await call()).toEqual(refusal('busy'))
  })

  it.each([{ timeoutSeconds: 30 }, { parameters: {} }, { arguments: [] }, { retryPolicy: { maxRetries: 0 } }])(
    'is the same call with what is the default anyway: %j',
    async (more) => {
      const { call } = aDesk(action)
      await call()
      expect(await call(more)).toEqual(inProgress)
    },
  )
})

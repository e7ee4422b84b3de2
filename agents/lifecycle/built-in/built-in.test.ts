import { say } from '#common/sentence/sentence.ts'
import { describe, expect, it } from 'vitest'
import { RegentError } from '#common/errors/errors.ts'
import type { ErrorCode } from '#common/errors/error-catalogue.ts'
import { bash, saidBy, testingActions } from '../testing.ts'
import { refusal, succeeded, type ErrorName } from '../wire/calls.ts'
import type { Action } from '../wire/definitions.ts'
import type { BuiltInAction } from './built-in-action.ts'
import { mergeBuiltIn, registryOf } from './registry.ts'
import { runBuiltIn } from './run-built-in.ts'
import { virtualWorld } from '#common/ports/testing-world.ts'

function says(name: string, text: string): BuiltInAction {
  return { name, run: async () => succeeded(Buffer.from(text)) }
}

/** A desk over these actions of the environment, and these built-in ones. */
function deskOver(configured: readonly Action[], builtIns: readonly BuiltInAction[]) {
  const { actions, builtIn } = mergeBuiltIn(new Map(configured.map((one) => [one.name, one])), registryOf(builtIns))
  return testingActions([...(actions ?? new Map<string, Action>()).values()], { builtIn })
}

async function run(run: BuiltInAction['run'], request: object = {}) {
  return deskOver([], [{ name: 'a', run }]).desk.call({ action: 'a', ...request })
}

describe('a built-in action', () => {
  it('is called as any other, with the parameters of the call', async () => {
    const result = await run(async ({ A }) => succeeded(Buffer.from(`given ${A}`)), { parameters: { A: '1' } })
    expect(saidBy(result)).toBe('given 1')
  })

  it('gives way to an action of the environment with the same name, also to one that is not whole', async () => {
    const { desk } = deskOver(
      [bash('roleProbe', 'echo -n script'), { name: 'readonly' }],
      [says('roleProbe', 'built in'), says('readonly', 'built in'), says('readwrite', 'built in')],
    )
    expect(saidBy(await desk.call({ action: 'roleProbe' }))).toBe('script')
    expect(await desk.call({ action: 'readonly' })).toEqual(refusal('badRequest', say`readonly is invalid`))
    expect(saidBy(await desk.call({ action: 'readwrite' }))).toBe('built in')
  })

  it('is all there is where the environment has no actions; without either there is nothing to call', () => {
    expect([...(mergeBuiltIn(null, registryOf([says('a', '')])).actions?.keys() ?? [])]).toEqual(['a'])
    expect(mergeBuiltIn(null, registryOf([])).actions).toBeNull()
  })

  it('has a name of its own', () => {
    expect(() => registryOf([says('a', ''), says('a', '')])).toThrow('the same name')
  })

  it('takes no arguments of a command', async () => {
    const result = await run(async () => succeeded(Buffer.alloc(0)), { arguments: [['x']] })
    expect(result).toMatchObject({ error: 'badRequest' })
  })

  it('that does not end in its time is answered with timedOut', async () => {
    const { desk } = deskOver([], [{ name: 'a', run: () => new Promise(() => undefined) }])
    expect(await desk.call({ action: 'a', timeoutSeconds: 1 })).toEqual(refusal('timedOut'))
  })

  it('hears that its time is over, as nobody hears what it says later', async () => {
    const world = virtualWorld()
    const heard: string[] = []
    const slow: BuiltInAction = {
      name: 'a',
      run: (_given, { signal }) => new Promise(() => signal.addEventListener('abort', () => heard.push('over'))),
    }
    const signal = new AbortController().signal
    const called = runBuiltIn(slow, {}, { deadlineMs: 1_000, signal, timers: world.timers })
    await world.advance(1_000)
    expect(await called).toEqual(refusal('timedOut'))
    expect(heard).toEqual(['over'])
  })

  it('that is under way when the agent stops is answered for', async () => {
    const { desk, kill } = deskOver([], [{ name: 'a', run: () => new Promise(() => undefined) }])
    const called = desk.call({ action: 'a' })
    setImmediate(kill)
    expect(await called).toEqual(refusal('failed', say`the agent is stopping`))
  })

  it.each<readonly [ErrorName, number]>([
    ['failed', 3],
    ['timedOut', 3],
    ['preconditionFailed', 1],
    ['badRequest', 1],
    ['notImplemented', 1],
    ['busy', 1],
  ])('that answers %s is run %d times with two retries', async (error, times) => {
    let runs = 0
    const refuse = async () => {
      runs += 1
      return refusal(error)
    }
    expect(await run(refuse, { retryPolicy: { maxRetries: 2 } })).toMatchObject({ error })
    expect(runs).toBe(times)
  })

  it('is picked up later where the call does not wait', async () => {
    const { desk } = deskOver([], [says('a', 'done')])
    const call = { action: 'a', nonBlocking: true }
    expect(await desk.call(call)).toEqual(refusal('inProgress'))
    await new Promise(setImmediate)
    expect(saidBy(await desk.call(call))).toBe('done')
  })

  it.each<readonly [ErrorCode, string]>([
    ['REGENT_SERVER_TIMEOUT', 'timedOut'],
    ['REGENT_SERVER_ERROR', 'failed'],
    ['REGENT_SERVER_DOWN', 'failed'],
    ['REGENT_BAD_REQUEST', 'badRequest'],
    ['REGENT_INTERNAL', 'internalError'],
  ])('that rejects with %s fails with %s', async (code, error) => {
    const result = await run(async () => Promise.reject(new RegentError(code, say`why`)))
    expect(result).toEqual({ ok: false, error, message: `why: ${error}` })
  })
})

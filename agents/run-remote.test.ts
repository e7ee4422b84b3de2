import { expect, it } from 'vitest'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { realWorld } from '#common/ports/real-world.ts'
import { aborted } from '#common/process/signals.ts'
import { UnendedLife } from './instance/one-life.ts'
import { runRemoteAgents } from './run-remote.ts'
import type { runAgent } from './run.ts'
import { anAgentConfig } from './testing.ts'

const configs = ['shop-0', 'shop-1'].map((instance) => anAgentConfig({ instance, logLevel: 'silent' }))
const world = { ...realWorld, timers: { ...realWorld.timers, sleep: () => realWorld.timers.sleep(1) } }

/** Two agents, of which the first one fails with each of these in turn. */
function twoAgents(...failures: RegentError[]) {
  const begun: string[] = []
  const stop = new AbortController()
  const run: typeof runAgent = async ({ instance }, { stop: told = stop.signal } = {}) => {
    begun.push(instance)
    const failure = instance === 'shop-0' ? failures.shift() : undefined
    if (failure !== undefined) throw failure
    await aborted(told)
  }
  return { begun, stop, all: runRemoteAgents(configs, { run, stop: stop.signal, world }) }
}

it('A far agent that cannot go on begins anew, and the others go on', async () => {
  const rebooted = () => new RegentError('REGENT_REBOOTED', say`its host was started anew`)
  const { begun, stop, all } = twoAgents(rebooted(), rebooted())
  await expect.poll(() => begun).toEqual(['shop-0', 'shop-1', 'shop-0', 'shop-0'])
  stop.abort()
  await all
})

it('All far agents begin anew where one of them does not end', async () => {
  const { begun, all } = twoAgents(new UnendedLife('REGENT_TIMED_OUT', say`something goes on`))
  await expect(all).rejects.toThrow('something goes on')
  expect(begun).toEqual(['shop-0', 'shop-1'])
})

import { describe, expect, it } from 'vitest'
import { aServerState, ScriptedServer, testParts } from '../testing.ts'
import { letRoutersEnd } from './routed-sessions.ts'

/** So many sessions at each look, the last for ever; on a clock of its own. Resolves to how long they had. */
async function hadMs(sessions: readonly number[], routers = 1, deadlineMs = 10_000): Promise<number> {
  let [nowMs, look] = [0, 0]
  const server = Object.assign(new ScriptedServer(aServerState()), {
    foreignSessions: async () => sessions[Math.min(look++, sessions.length - 1)] ?? 0,
  })
  const parts = await testParts(server)
  const world = {
    ...parts.world,
    clock: { ...parts.world.clock, monotonicMs: () => nowMs },
    timers: { ...parts.world.timers, sleep: async (ms: number) => void (nowMs += ms) },
  }
  await letRoutersEnd({ ...parts, world, routers: () => routers }, deadlineMs)
  return nowMs
}

describe('sessions that routers lead here', () => {
  it('have a while to end as long as they become fewer', async () => {
    expect(await hadMs([400, 400, 300, 200, 0])).toBe(32)
  })

  it('are left to MySQL once they do not become fewer', async () => {
    expect(await hadMs([400])).toBe(40)
    expect(await hadMs([400, 100])).toBe(48)
  })

  it('are left to MySQL where they are few', async () => {
    expect(await hadMs([20])).toBe(0)
  })

  it('are not waited for where no router follows this agent', async () => {
    expect(await hadMs([400], 0)).toBe(0)
  })

  it('have half of the time of the demotion at most: the rest is for MySQL', async () => {
    const oneByOne = Array.from({ length: 400 }, (_, at) => 400 - at)
    expect(await hadMs(oneByOne, 1, 100)).toBe(56)
  })

  it('are left to MySQL where others come as fast as some go', async () => {
    const comeAndGo = Array.from({ length: 10_000 }, (_, at) => 60 - (at % 3))
    expect(await hadMs(comeAndGo)).toBe(56)
  })

  it('are left to MySQL where the server does not answer the look that tells of it', async () => {
    const server = new ScriptedServer(aServerState())
    server.readState = () => Promise.reject(new Error('no answer'))
    const parts = await testParts(server)
    await expect(letRoutersEnd({ ...parts, routers: () => 1 }, 10_000)).resolves.toBeUndefined()
  })
})

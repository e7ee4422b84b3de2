import { expect, it, vi } from 'vitest'
import { say } from '#common/sentence/sentence.ts'
import type { FeedListener } from '#manager/loop/agent-feed.ts'
import type { Observation } from '#topology/snapshot/observation.ts'
import { routerSettings } from '#failover/protocol/router-settings.ts'
import type { EpochMemory } from './epoch-memory.ts'
import type { Proxy } from './commands.ts'
import { Router } from './router.ts'

/** An HAProxy with one server line, which answers what it is told to. */
function fakeProxy(answer: () => string | Error) {
  const lines: string[] = []
  const proxy: Proxy & { restarts: number } = {
    restarts: 0,
    tell: async (commands) => {
      const isAsked = commands[0] === 'show servers state'
      if (!isAsked) lines.push(...commands)
      const said = isAsked ? answer() : '\n'.repeat(commands.length)
      if (said instanceof Error) throw said
      return said
    },
    restart: async () => void (proxy.restarts += 1),
  }
  return { proxy, lines }
}

const closed = '1\n5 gate 1 open 127.0.0.1 2 1 100 100 3 1 0 0 0 0 0 0 - 1 - 0 0 - - 0\n\n'

/** As a router before left it behind. */
function aMemory(found = 0): EpochMemory {
  const memory = {
    highest: found,
    note: (epoch: number) => void (memory.highest = Math.max(memory.highest, epoch)),
    forget: () => void (memory.highest = 0),
  }
  return memory
}

function routerOn(proxy: Proxy, nowMs = () => 0, memory = aMemory()) {
  const listeners = new Map<string, FeedListener>()
  const told: string[] = []
  const router = new Router({
    cluster: 'shop',
    settings: routerSettings({}),
    feed: {
      follow: (_, { instance }, listener) => {
        listeners.set(instance, listener)
        return () => listeners.delete(instance)
      },
    },
    proxy,
    memory,
    nowMs,
    told: (sentence) => told.push(String(sentence)),
    warn: (sentence) => told.push(String(sentence)),
  })
  const instance = (at: number) => ({
    name: `shop-${at}`,
    host: `10.0.0.${at}`,
    port: 3306,
    agent: `10.0.0.${at}:9400`,
  })
  router.setInstances([instance(0), instance(1)])
  return { router, listeners, told, instance }
}

const primarySeen = {
  stored: { assignment: { epoch: 1, role: 'primary', fenced: false }, promise: 1, seeding: false, filterSeen: false },
  process: 'running',
  silentMs: 0,
  seedingProgress: null,
  server: { uuid: 'a', superReadOnly: false, readOnly: false, offlineMode: false, channel: null },
} as unknown as Observation

it('HAProxy is led once it answers, and by the newest word of an agent', async () => {
  const { proxy, lines } = fakeProxy(() => closed)
  const { router, listeners, told, instance } = routerOn(proxy)
  router.setRecord({ epoch: 1, primary: 'shop-0' })
  listeners.get('shop-0')?.heard(primarySeen)
  await new Promise(setImmediate)
  expect(lines).toEqual([])
  router.look()
  await vi.waitFor(() => expect(lines).toContain('set server gate/open state ready'))
  expect(lines).toContain('set server primary/primary addr 10.0.0.0 port 3306')
  expect(told).toContain('writes go on: shop-0 is the primary of epoch 1 by the manager')
  lines.length = 0
  listeners.get('shop-0')?.lost('gone')
  await vi.waitFor(() => expect(lines[0]).toBe('set server gate/open state maint'))
  expect(lines).not.toContainEqual(expect.stringContaining('server primary/'))
  router.setInstances([instance(1)])
  expect([...listeners.keys()]).toEqual(['shop-1'])
})

/** HAProxy as a router before led it. */
const ledBefore = [
  '1',
  '5 gate 1 open 127.0.0.1 2 0 100 100 3 1 0 0 0 0 0 0 - 1 - 0 0 - - 0',
  '6 primary 1 primary 10.0.0.0 2 0 100 100 3 1 0 0 0 0 0 0 - 3306 - 0 0 - - 0',
  '7 reads 1 r0 10.0.0.0 2 8 100 100 3 1 0 0 0 0 0 0 - 3306 - 0 0 - - 0',
  '7 reads 2 r1 10.0.0.1 2 0 100 100 3 1 0 0 0 0 0 0 - 3306 - 0 0 - - 0',
  ...Array.from(
    { length: 14 },
    (_, at) => `7 reads ${at + 3} r${at + 2} 127.0.0.1 0 1 100 100 3 1 0 0 0 0 0 0 - 1 - 0 0 - - 0`,
  ),
  '',
  '',
].join('\n')

it('A router that takes an HAProxy over ends no session there', async () => {
  const { proxy, lines } = fakeProxy(() => ledBefore)
  const { router, listeners, instance } = routerOn(proxy)
  router.setInstances([])
  router.look()
  await vi.waitFor(() => expect(lines).toContain('set server gate/open state maint'))
  router.setInstances([instance(0), instance(1)])
  router.setRecord({ epoch: 1, primary: 'shop-0' })
  await new Promise(setImmediate)
  listeners.get('shop-0')?.heard(primarySeen)
  await vi.waitFor(() => expect(lines).toContain('set server gate/open state ready'))
  expect(lines.filter((line) => /primary|r[01]/.test(line) && !/ state /.test(line))).toEqual([])
  expect(lines.filter((line) => line.includes('shutdown'))).toEqual(['shutdown sessions server gate/open'])
})

it('A router that takes an HAProxy over ends the sessions of an old primary', async () => {
  const { proxy, lines } = fakeProxy(() => ledBefore)
  const { router, listeners } = routerOn(proxy)
  router.look()
  await vi.waitFor(() => expect(lines).toContain('set server gate/open state maint'))
  router.setRecord({ epoch: 2, primary: 'shop-1' })
  listeners.get('shop-0')?.heard(primarySeen)
  await vi.waitFor(() => expect(lines).toContain('shutdown sessions server primary/primary'))
  expect(lines).toContain('set server primary/primary addr 127.0.0.1 port 1')
})

const replicaSeen = {
  ...primarySeen,
  stored: { ...primarySeen.stored, assignment: { epoch: 1, role: 'replica', fenced: false } },
  server: {
    ...primarySeen.server,
    ...{ superReadOnly: true, readOnly: true },
    channel: { ioRunning: 'yes', sqlRunning: true, lagSeconds: 0, silentMs: 0, filtered: false, delaySeconds: 0 },
  },
} as unknown as Observation

it('Sessions that read at a machine without power end after a lease; where the agent alone is gone they go on', async () => {
  let nowMs = 0
  const { proxy, lines } = fakeProxy(() => ledBefore)
  const { router, listeners } = routerOn(proxy, () => nowMs)
  const settled = () => new Promise((resolve) => setTimeout(resolve, 5))
  const lost = async (isReached: boolean) => {
    if (!isReached) listeners.get('shop-1')?.unreached?.()
    listeners.get('shop-1')?.lost('no answer')
    await settled()
  }
  router.setRecord({ epoch: 1, primary: 'shop-0' })
  listeners.get('shop-0')?.heard(primarySeen)
  listeners.get('shop-1')?.heard(replicaSeen)
  router.look()
  await settled()
  for (const isReached of [true, false]) {
    await lost(isReached)
    nowMs += 6_000
    await lost(true)
    expect(lines.filter((line) => line.includes('sessions server reads/r1'))).toEqual([])
  }
  await lost(false)
  nowMs += 5_999
  await lost(false)
  expect(lines.filter((line) => line.includes('sessions server reads/r1'))).toEqual([])
  nowMs += 1
  router.look()
  await settled()
  const told = lines.filter((line) => line.includes('reads/r1'))
  expect(told.slice(-2)).toEqual(['set server reads/r1 state maint', 'shutdown sessions server reads/r1'])
})

it('An HAProxy that begins anew while its predecessor is told something is asked, too', async () => {
  let state = closed
  let looks = 0
  const { proxy, lines } = fakeProxy(() => ((looks += 1), state))
  const { router, listeners } = routerOn({
    ...proxy,
    tell: async (commands) => {
      const answer = await proxy.tell(commands)
      if (commands.includes('set server primary/primary addr 10.0.0.0 port 3306') && state === closed) {
        state = `${closed.trimEnd()}\n6 primary 1 primary 127.0.0.1 0 0 100 100 3 1 0 0 0 0 0 0 - 1 - 0 0 - - 0\n\n`
        router.look()
      }
      return answer
    },
  })
  router.setRecord({ epoch: 1, primary: 'shop-0' })
  listeners.get('shop-0')?.heard(primarySeen)
  router.look()
  const moves = () => lines.filter((line) => line === 'set server primary/primary addr 10.0.0.0 port 3306').length
  await vi.waitFor(() => expect(looks).toBeGreaterThan(1))
  await vi.waitFor(() => expect(moves()).toBe(2))
})

it('Whoever asks is told that HAProxy is not led, and then where it leads again', async () => {
  let said: string | Error = closed
  const { proxy } = fakeProxy(() => said)
  const { router, listeners, told } = routerOn(proxy)
  router.setRecord({ epoch: 1, primary: 'shop-0' })
  listeners.get('shop-0')?.heard(primarySeen)
  router.look()
  await vi.waitFor(() => expect(told.at(-1)).toMatch(/^writes go on/))
  said = new Error('nothing within 2000 ms')
  for (let time = 0; time < 2; time++) {
    router.look()
    await vi.waitFor(() => expect(router.state.failures).toBe(time + 1))
  }
  expect(told.at(-1)).toBe('HAProxy is not led: nothing within 2000 ms')
  expect(router.state.sentence).toBe(told.at(-1))
  said = closed
  router.look()
  await vi.waitFor(() => expect(told.at(-1)).toMatch(/^writes go on/))
  expect(told, 'each new sentence once').toHaveLength(3)
})

it('An HAProxy that answers nonsense again and again is started anew', async () => {
  const nonsense = ['', 'Unknown command', '\u0000', '1 2 3']
  let turn = 0
  const { proxy } = fakeProxy(() => nonsense[turn++ % nonsense.length] ?? '')
  const { router } = routerOn(proxy)
  for (let look = 0; look < 5; look++) {
    router.look()
    await vi.waitFor(() => expect(turn).toBe(look + 1))
    await new Promise(setImmediate)
  }
  expect(proxy.restarts).toBe(1)
})

it('A router that begins anew leads by no older epoch, though an old record and the old primary are all it reaches', async () => {
  const { proxy, lines } = fakeProxy(() => ledBefore)
  const memory = aMemory(2)
  const { router, listeners, told } = routerOn(proxy, undefined, memory)
  router.look()
  router.setRecord({ epoch: 1, primary: 'shop-0' })
  listeners.get('shop-0')?.heard(primarySeen)
  await vi.waitFor(() =>
    expect(told.at(-1)).toBe(
      'sessions wait: shop-0 is the primary of epoch 1 by the manager, and this router knows of epoch 2 already',
    ),
  )
  expect(lines).not.toContain('set server gate/open state ready')
  expect(memory.highest).toBe(2)
})

it('Within one life a record that goes back is not followed either', async () => {
  const { proxy } = fakeProxy(() => closed)
  const { router, listeners, told } = routerOn(proxy)
  router.setRecord({ epoch: 2, primary: 'shop-1' })
  listeners.get('shop-0')?.heard(primarySeen)
  router.look()
  await vi.waitFor(() => expect(told.at(-1)).toMatch(/^sessions wait: shop-1 is the primary of epoch 2/))
  router.setRecord({ epoch: 1, primary: 'shop-0' })
  await vi.waitFor(() => expect(told.at(-1)).toMatch(/shop-0 .* and this router knows of epoch 2 already$/))
})

it('An epoch counts no more once all agents were heard for a lease, and none ever promised it', async () => {
  let nowMs = 0
  const { proxy, lines } = fakeProxy(() => closed)
  const memory = aMemory(40)
  const { router, listeners } = routerOn(proxy, () => nowMs, memory)
  const settled = () => new Promise((resolve) => setTimeout(resolve, 5))
  const after = async (ms: number) => {
    nowMs += ms
    router.look()
    await settled()
  }
  router.setRecord({ epoch: 1, primary: 'shop-0' })
  listeners.get('shop-0')?.heard(primarySeen)
  await after(60_000)
  expect(router.state.sentence, 'one that is not heard may know better').toMatch(/knows of epoch 40 already$/)
  listeners.get('shop-1')?.heard(replicaSeen)
  await settled()
  await after(5_000)
  listeners.get('shop-1')?.lost('gone')
  await settled()
  listeners.get('shop-1')?.heard(replicaSeen)
  await settled()
  await after(5_999)
  expect([memory.highest, lines.includes('set server gate/open state ready')]).toEqual([40, false])
  await after(1)
  expect([memory.highest, lines.includes('set server gate/open state ready')]).toEqual([1, true])
})

it('An HAProxy that refuses is started again after some tries, at once where the gate stays open, for reads alone once', async () => {
  const restarts = async (refused: RegExp) => {
    const { proxy } = fakeProxy(() => closed)
    const { router, listeners } = routerOn({
      tell: async (commands) =>
        commands[0] === 'show servers state'
          ? proxy.tell(commands)
          : commands.map((command) => (refused.test(command) ? 'No such server.\n\n' : '\n')).join(''),
      restart: () => proxy.restart(),
    })
    router.setRecord({ epoch: 1, primary: 'shop-0' })
    listeners.get('shop-0')?.heard(primarySeen)
    const after: number[] = []
    for (let look = 1; look <= 11; look++) {
      router.look()
      await vi.waitFor(() => expect(router.state.failures).toBe(look))
      after.push(proxy.restarts)
    }
    return { after: after.join(''), ledAgoMs: router.ledAgoMs() }
  }
  expect(await restarts(/primary/)).toEqual({ after: '00001111122', ledAgoMs: Infinity })
  expect(await restarts(/primary|gate/)).toEqual({ after: '11112222233', ledAgoMs: Infinity })
  expect(await restarts(/reads/)).toEqual({ after: '00001111111', ledAgoMs: 0 })
})

it('Nobody is said to be led while HAProxy refuses to lead sessions that write, or does not answer', async () => {
  let said: string | Error = closed
  let refused = /^$/
  const { proxy } = fakeProxy(() => said)
  const { router, listeners, told } = routerOn({
    tell: async (commands) =>
      commands[0] === 'show servers state' || !commands.some((command) => refused.test(command))
        ? proxy.tell(commands)
        : commands.map((command) => (refused.test(command) ? 'No such server.\n\n' : '\n')).join(''),
    restart: () => proxy.restart(),
  })
  router.setRecord({ epoch: 1, primary: 'shop-0' })
  listeners.get('shop-0')?.heard(primarySeen)
  const looksUntil = async (sentence: RegExp) => {
    router.look()
    await vi.waitFor(() => expect(told.at(-1)).toMatch(sentence))
    return router.state.leads
  }
  expect(await looksUntil(/^writes go on/)).toBe('shop-0')
  refused = /primary addr/
  expect(await looksUntil(/^sessions wait: HAProxy refuses/), 'the gate is shut').toBe('')
  refused = /^$/
  expect(await looksUntil(/^writes go on/)).toBe('shop-0')
  said = new Error('nothing within 2000 ms')
  expect(await looksUntil(/^HAProxy is not led/), 'nobody knows').toBe('')
  said = closed
  refused = /reads/
  expect(await looksUntil(/^HAProxy refuses/), 'reads alone').toBe('shop-0')
  expect(router.state.moves).toBe(0)
})

it('A router is cut off when neither a manager nor any agent is heard, and one of them is enough', async () => {
  let nowMs = 0
  const { router, listeners } = routerOn(fakeProxy(() => closed).proxy, () => nowMs)
  const after = (ms: number) => ((nowMs += ms), router.unheardForMs())
  expect(after(60_000), 'nobody yet').toBe(Infinity)
  router.setRecord({ epoch: 0, primary: null })
  expect(after(60_000), 'the manager alone, before there is a primary').toBe(0)
  listeners.get('shop-0')?.heard(primarySeen)
  router.setRecord(null)
  expect(after(60_000), 'one agent, and no manager').toBe(0)
  router.setRecord(null)
  listeners.get('shop-0')?.lost('gone')
  router.setRecord(null)
  expect(after(6_000)).toBe(6_000)
  listeners.get('shop-0')?.lost('gone')
  expect(after(1_000)).toBe(7_000)
  listeners.get('shop-1')?.heard(replicaSeen)
  expect(after(0)).toBe(0)
})

it('Why an agent is not heard is in the log once, and in the sentence: the right way out is another for each reason', async () => {
  const { proxy } = fakeProxy(() => closed)
  const { router, listeners, told } = routerOn(proxy)
  const refused = '10.0.0.0:9400 answered 401: the token is not that of this cluster'
  const gone = 'connect ECONNREFUSED 10.0.0.1:9400'
  const lose = (instance: string, why: string) => listeners.get(instance)?.lost(why)
  router.setRecord({ epoch: 1, primary: 'shop-0' })
  router.look()
  for (let time = 0; time < 5; time++) lose('shop-0', refused)
  await vi.waitFor(() =>
    expect(router.state.sentence).toBe(
      `sessions wait: shop-0 is the primary of epoch 1 by the manager, and its agent is not heard: ${refused}`,
    ),
  )
  expect(told.filter((line) => line === `the agent of shop-0 is not heard: ${refused}`)).toHaveLength(1)
  lose('shop-1', gone)
  router.setRecord(null)
  await vi.waitFor(() =>
    expect(router.state.sentence).toBe(
      'sessions wait: no manager answers, and of 2 agents 0 are heard: no majority confirms a primary; ' +
        `shop-0: ${refused}; shop-1: ${gone}`,
    ),
  )
  const lines = told.length
  for (const why of ['no answer at all', gone, 'no answer at all', gone]) lose('shop-1', why)
  await new Promise((resolve) => setTimeout(resolve, 5))
  expect(told, 'reasons that alternate are no news').toHaveLength(lines)
  for (const why of ['no answer at all', 'no answer at all']) lose('shop-1', why)
  await vi.waitFor(() => expect(router.state.sentence).toMatch(/shop-1: no answer at all$/))
  listeners.get('shop-1')?.heard(replicaSeen)
  lose('shop-1', gone)
  expect(told.at(-1), 'heard in between').toBe(`the agent of shop-1 is not heard: ${gone}`)
})

it('An agent whose words are not understood is named as such in the sentence', async () => {
  const { proxy } = fakeProxy(() => closed)
  const { router, listeners } = routerOn(proxy)
  router.setRecord({ epoch: 1, primary: 'shop-0' })
  router.look()
  listeners.get('shop-0')?.heard({ ...primarySeen, process: 7 } as unknown as Observation)
  await vi.waitFor(() => expect(router.state.sentence).toMatch(/agent is not heard: what it says is not understood$/))
})

it('Whoever asks is told that HAProxy does not start, and the log once, also before the first HAProxy', () => {
  const { router, told } = routerOn(fakeProxy(() => closed).proxy)
  for (let time = 0; time < 3; time++) router.notStarted(say`HAProxy does not start (exit code 1)`)
  expect(router.state.sentence).toBe('HAProxy does not start (exit code 1)')
  expect(told).toHaveLength(1)
})

it('A replica that followed nobody while the primary wrote gets no reads when the primary is lost', async () => {
  let nowMs = 0
  const { proxy, lines } = fakeProxy(() => ledBefore)
  const { router, listeners } = routerOn(proxy, () => nowMs)
  const settled = () => new Promise((resolve) => setTimeout(resolve, 5))
  const channel = { ...replicaSeen.server?.channel, ioRunning: 'no' }
  const strayed = { ...replicaSeen, server: { ...replicaSeen.server, channel } } as unknown as Observation
  router.setRecord({ epoch: 1, primary: 'shop-0' })
  listeners.get('shop-0')?.heard(primarySeen)
  listeners.get('shop-1')?.heard(replicaSeen)
  router.look()
  await settled()
  const opened = async () => {
    lines.length = 0
    listeners.get('shop-0')?.lost('gone')
    await settled()
    return lines.filter((line) => line.includes('reads/r1 state'))
  }
  listeners.get('shop-1')?.heard(strayed)
  await settled()
  expect(await opened(), 'cut off only now, as in a failover').toEqual(['set server reads/r1 state ready'])
  listeners.get('shop-0')?.heard(primarySeen)
  await settled()
  nowMs += 5_001
  router.look()
  await settled()
  expect(await opened()).toEqual([])
})

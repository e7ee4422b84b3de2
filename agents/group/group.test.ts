import { say, type Sentence } from '#common/sentence/sentence.ts'
import { describe, expect, it } from 'vitest'
import { orderVersion } from '#failover/protocol/message.ts'
import type { ExpelOrder } from '#failover/protocol/order.ts'
import { silentMemberMs } from '#failover/protocol/timings.ts'
import type { Timer } from '#common/ports/ports.ts'
import { memberOf } from '#topology/testing.ts'
import type { GroupState, ServerState } from '#topology/snapshot/observation.ts'
import { viewOf } from '../instance/pass.ts'
import { silentMembers } from '../instance/silent-members.ts'
import { aServerState, primaryOfEpoch3, ScriptedProcess, ScriptedServer, testParts, watchesOf } from '../testing.ts'
import { Group } from './group.ts'

const online: GroupState = {
  name: '11111111-2222-8333-8444-555555555555',
  state: 'ONLINE',
  viewId: '17:3',
  members: [],
  certifying: 0,
  applying: 0,
  error: '',
}

/** A process whose change of state is told as a real one's is. */
class MortalProcess extends ScriptedProcess {
  #tell: () => void = () => undefined
  override readonly onChange = (changed: () => void): void => void (this.#tell = changed)

  become(state: ScriptedProcess['state']): void {
    this.state = state
    this.#tell()
  }
}

/** Looks at its group once. A test says when it looks again (`look`), and no time passes: a busy machine is late. */
async function aMember(group: GroupState = online) {
  const process = new MortalProcess()
  const fixed = await testParts(new ScriptedServer({ ...aServerState(), group }), { process })
  const looks: (() => void)[] = []
  const every = (_ms: number, task: () => void): Timer => (looks.push(task), { cancel: () => void looks.splice(0) })
  const look = (): void => {
    for (const one of looks) one()
  }
  const clock = { ...fixed.world.clock, monotonicMs: () => 1_000_000 }
  const parts = { ...fixed, world: { ...fixed.world, clock, timers: { ...fixed.world.timers, every } } }
  const asked: string[] = []
  const rests: number[] = []
  const removal = { of: Promise.resolve(say`the removal was accepted`) }
  const expulsion = {
    know: ({ viewId }: GroupState) => void asked.push(`know ${viewId}`),
    silence: new Map<string, number>(),
    expel: (address: string) => (asked.push(`expel ${address}`), removal.of),
    rest: () => void rests.push(1),
  }
  await parts.observer.refresh()
  const changes: number[] = []
  const mode = new Group({ ...parts, expulsion, changed: () => void changes.push(1) })
  const watches = watchesOf(parts)
  mode.start(watches)
  look()
  return { parts, process, asked, rests, removal, mode, watches, expulsion, changes, look }
}

describe('A member of a group whose mysqld dies', () => {
  it('has the others remove it, once, and says what became of that', async () => {
    const { parts, process, asked, watches } = await aMember()
    for (const state of ['exiting', 'dead'] as const) process.become(state)
    await parts.world.timers.sleep(1)
    watches.stop()
    expect(asked).toEqual(['know 17:3', 'expel 127.0.0.1:3306'])
    expect(parts.notices.list).toMatchObject([{ code: 'GroupMemberExpelled', sentence: 'the removal was accepted' }])
  })

  it('comes back 8.5 s later: 2 s before the others dial its address again', async () => {
    const { parts, process, watches } = await aMember()
    process.become('dead')
    const leftMs = parts.jobs.joinsNotBeforeMs - parts.world.clock.monotonicMs()
    watches.stop()
    expect(leftMs).toBe(8_500)
  })

  it('has nobody removed while it is only stopped', async () => {
    const { process, asked, watches } = await aMember()
    process.become('stopped')
    watches.stop()
    expect(asked).toEqual(['know 17:3'])
  })

  it('has nobody removed where it was no member', async () => {
    const { process, asked, watches } = await aMember({ ...online, state: 'RECOVERING' })
    process.become('dead')
    watches.stop()
    expect(asked).toEqual([])
  })

  it.each(['OFFLINE', 'ERROR'] as const)(
    'has nobody removed where it had left before, and joins once the others have forgotten it: it is %s',
    async (state) => {
      const { parts, process, asked, watches, look } = await aMember()
      ;(parts.server as ScriptedServer).state = { ...aServerState(), group: { ...online, state } }
      await parts.observer.refresh()
      expect(parts.jobs.joinsNotBeforeMs).toBe(-Infinity)
      look()
      const untilMs = parts.jobs.joinsNotBeforeMs
      look()
      process.become('dead')
      watches.stop()
      expect(asked).toEqual(['know 17:3'])
      expect(parts.jobs.joinsNotBeforeMs).toBe(untilMs)
      expect(untilMs - parts.world.clock.monotonicMs()).toBeGreaterThan(13_000)
    },
  )

  it('does not join before that, where its pass sees first that it has left', async () => {
    const { parts, mode, watches } = await aMember()
    const state: ServerState = { ...aServerState(), group: { ...online, state: 'OFFLINE' } }
    const group = { name: online.name, does: 'join', consistency: 'EVENTUAL' } as const
    const pass = mode.next(viewOf(parts, state), { ...primaryOfEpoch3, group })
    watches.stop()
    expect(pass).toEqual({ next: 'at once' })
    expect(parts.jobs.joinsNotBeforeMs - parts.world.clock.monotonicMs()).toBeGreaterThan(13_000)
  })

  it('keeps its connections to the members until it is removed, and not longer', async () => {
    const { process, rests, removal, watches, look } = await aMember()
    const { promise, resolve } = Promise.withResolvers<Sentence>()
    removal.of = promise
    process.become('dead')
    for (let time = 0; time < 3; time += 1) look()
    expect(rests).toEqual([])
    resolve(say`the removal was accepted`)
    await expect.poll(() => rests.length).toBeGreaterThan(0)
    watches.stop()
  })

  it.each(['OFFLINE', 'ERROR'] as const)('connects to no member while its server is %s', async (state) => {
    const { rests, watches } = await aMember({ ...online, state })
    expect(rests.length).toBeGreaterThan(0)
    watches.stop()
  })
})

describe('An agent that begins', () => {
  it('has its server join once the others have forgotten what may have been a member a moment ago', async () => {
    const parts = await testParts(new ScriptedServer(aServerState()), { process: new MortalProcess() })
    await parts.file.update({ assignment: primaryOfEpoch3 })
    const watches = watchesOf(parts)
    const beganMs = parts.world.clock.monotonicMs()
    new Group(parts).start(watches)
    watches.stop()
    expect(parts.jobs.joinsNotBeforeMs - beganMs).toBeGreaterThan(13_000)
  })

  it('has a new server join at once', async () => {
    const { parts, watches } = await aMember()
    watches.stop()
    expect(parts.jobs.joinsNotBeforeMs).toBe(-Infinity)
  })
})

describe('A member that is told that another one is silent', () => {
  const silent = { instance: 'shop-1', host: '127.24.1.2', port: 10_001, agent: '127.24.1.2:9400' }
  const order: ExpelOrder = {
    ...{ version: orderVersion, cluster: 'shop', member: memberOf('shop-0'), epoch: 3, revision: 10 },
    silent,
  }

  it('has the others remove it, where this agent does not hear it either, and says what became of that', async () => {
    const { parts, asked, mode, watches, expulsion } = await aMember()
    expulsion.silence.set('127.0.0.1:10001', silentMemberMs(parts.timings))
    mode.expel(order)
    await parts.world.timers.sleep(1)
    watches.stop()
    expect(asked).toEqual(['know 17:3', 'expel 127.0.0.1:10001'])
    expect(parts.notices.list).toMatchObject([{ code: 'GroupMemberExpelled', sentence: 'the removal was accepted' }])
  })

  it('has it removed once where it is told so again meanwhile, and again once that has ended', async () => {
    const { parts, asked, mode, watches, expulsion } = await aMember()
    expulsion.silence.set('127.0.0.1:10001', silentMemberMs(parts.timings))
    for (let time = 0; time < 2; time += 1) mode.expel(order)
    expect(asked).toEqual(['know 17:3', 'expel 127.0.0.1:10001'])
    await parts.world.timers.sleep(1)
    mode.expel(order)
    watches.stop()
    expect(asked).toEqual(['know 17:3', 'expel 127.0.0.1:10001', 'expel 127.0.0.1:10001'])
  })

  it('tells its manager as soon as it calls another one silent, and once', async () => {
    const { parts, watches, expulsion, changes, look } = await aMember()
    const peers = [{ ...silent, instance: 'shop-2', port: 10_002 }, silent]
    await parts.file.update({ assignment: { ...primaryOfEpoch3, peers } })
    const before = changes.length
    expulsion.silence.set('127.0.0.1:10001', silentMemberMs(parts.timings))
    for (let time = 0; time < 3; time += 1) look()
    watches.stop()
    expect(changes).toHaveLength(before + 1)
    expect(silentMembers({ ...parts, expulsion })).toEqual(['shop-1'])
  })

  it('refuses where this agent hears it, or knows of no such member', async () => {
    const { parts, asked, mode, watches, expulsion } = await aMember()
    const refusal = (message: RegExp) =>
      expect.objectContaining({
        code: 'REGENT_ORDER_NOT_ALLOWED',
        message: expect.stringMatching(message) as string,
      }) as Error
    expect(() => mode.expel(order)).toThrow(
      refusal(/shop-1 is not removed from the group: this agent knows of no member at 127\.0\.0\.1:10001/),
    )
    expulsion.silence.set('127.0.0.1:10001', silentMemberMs(parts.timings) - 1)
    expect(() => mode.expel(order)).toThrow(refusal(/its server is silent for 1199 ms, and 1200 ms say something/))
    watches.stop()
    expect(asked).toEqual(['know 17:3'])
  })
})

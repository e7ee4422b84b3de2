import { afterEach, describe, expect, it, vi } from 'vitest'
import { Converger } from '../converge/converger.ts'
import type { Watches } from '#common/watch/watches.ts'
import type { Parts } from '../instance/parts.ts'
import { Termination } from './termination.ts'
import {
  aServerState,
  primaryOfEpoch3,
  replicaOfEpoch3,
  ScriptedProcess,
  ScriptedServer,
  testParts,
  watchesOf,
} from '../testing.ts'
import { settable } from '../testing-known.ts'

class ScriptedLauncher {
  terminating = true
  quits = 0
  readonly isTerminating = async (): Promise<boolean> => this.terminating
  readonly quit = async (): Promise<void> => void (this.quits += 1)
}

let termination: Termination | undefined
let watches: Watches | undefined
afterEach(() => watches?.stop())

async function begin(
  assignment: 'primary' | 'replica',
  server = new ScriptedServer(aServerState()),
  more: { counted?: boolean; state?: 'starting' | 'stopped' } = {},
): Promise<{ parts: Parts; launcher: ScriptedLauncher; process: ScriptedProcess }> {
  const process = new ScriptedProcess()
  process.state = more.state ?? 'running'
  const parts = await testParts(server, { process })
  await parts.file.update({
    promise: 3,
    revision: 10,
    assignment: assignment === 'primary' ? primaryOfEpoch3 : { ...replicaOfEpoch3, counted: more.counted === true },
  })
  const launcher = new ScriptedLauncher()
  const converger = new Converger(parts, () => undefined)
  converger.stop()
  termination = new Termination(parts, converger, launcher)
  watches = watchesOf(parts)
  termination.start(watches)
  return { parts, launcher, process }
}

describe('An instance whose pod ends', () => {
  it('stops in order where it is a replica: what it acknowledged is on disk before, and only then the launcher hears that it may go', async () => {
    const server = new ScriptedServer(aServerState())
    const { parts, launcher, process } = await begin('replica', server)
    await vi.waitUntil(() => server.calls.includes('shutdown'), { timeout: 60_000 })
    expect(server.calls).toEqual(['stopReceiver', 'shutdown'])
    expect(parts.file.current.stoppedInOrder).toBe(true)
    expect(launcher.quits).toBe(0)
    process.state = 'dead'
    await vi.waitUntil(() => launcher.quits === 1, { timeout: 60_000 })
  })

  it('waits to be let out of the sync set', async () => {
    const server = new ScriptedServer(aServerState())
    const { parts } = await begin('replica', server, { counted: true })
    await vi.waitUntil(() => /out of the sync set/.test(String(parts.course.converged.sentence)), {
      timeout: 60_000,
    })
    expect(server.calls).toEqual([])
    await parts.file.update({ assignment: replicaOfEpoch3 })
    await vi.waitUntil(() => server.calls.includes('shutdown'), { timeout: 60_000 })
  })

  it('waits for another to take over where it is the primary, and never shuts it down', async () => {
    const server = new ScriptedServer(aServerState())
    const { parts, process } = await begin('primary', server)
    await vi.waitUntil(() => /another instance is primary/.test(String(parts.course.converged.sentence)), {
      timeout: 60_000,
    })
    expect(process.state).toBe('running')
    settable(parts).pod.termination = { sinceMs: -1e9, stopping: false }
    await vi.waitUntil(() => process.state === 'dead', { timeout: 60_000 })
    expect(server.calls).toEqual([])
  })

  it.each(['starting', 'stopped'] as const)(
    'waits for another to take over where it is a primary whose mysqld is %s, and is ended once that took too long',
    async (state) => {
      const { parts, process } = await begin('primary', new ScriptedServer(aServerState()), { state })
      await vi.waitUntil(() => /another instance is primary/.test(String(parts.course.converged.sentence)), {
        timeout: 60_000,
      })
      expect(process.state).toBe(state)
      settable(parts).pod.termination = { sinceMs: -1e9, stopping: false }
      await vi.waitUntil(() => process.state === 'dead', { timeout: 60_000 })
      expect(parts.pod.hasLeft).toBe(false)
    },
  )

  it('ends at once where nobody could take over because nobody counts', async () => {
    const { parts, process } = await begin('primary')
    await parts.file.update({ assignment: { ...primaryOfEpoch3, acks: 0, counted: [] } })
    await vi.waitUntil(() => process.state === 'dead', { timeout: 60_000 })
  })

  it('waits for another to take over where replicas count and writes need none of them', async () => {
    const parts = await testParts(new ScriptedServer(aServerState()))
    await parts.file.update({ promise: 3, revision: 10, assignment: { ...primaryOfEpoch3, acks: 0 } })
    expect(primaryOfEpoch3.counted).not.toEqual([])
    expect(String(new Converger(parts, () => undefined).mode.waitsToEnd(0))).toContain('another instance is primary')
  })

  it('goes on where only its container was told to end and another has begun', async () => {
    const { parts, launcher, process } = await begin('replica')
    process.state = 'dead'
    await vi.waitUntil(() => launcher.quits === 1, { timeout: 60_000 })
    launcher.terminating = false
    await vi.waitUntil(() => parts.pod.termination === null, { timeout: 60_000 })
    expect(String(parts.notices.list.at(-1)?.sentence)).toBe('the pod stays: its container began again')
  })
})

describe('An instance that leaves for a caller', () => {
  async function beginLeaving(
    assignment: 'primary' | 'replica',
    more: { counted?: boolean; state?: 'starting' | 'stopped' } = {},
  ) {
    const server = new ScriptedServer(aServerState())
    const scene = await begin(assignment, server, more)
    scene.launcher.terminating = false
    settable(scene.parts).pod.leavesUntilMs = Infinity
    return { ...scene, server }
  }

  it('stops in order once it does not count, stays down, and does not end its pod', async () => {
    const { parts, server, process, launcher } = await beginLeaving('replica', { counted: true })
    await vi.waitUntil(() => /out of the sync set/.test(String(parts.course.converged.sentence)), {
      timeout: 60_000,
    })
    settable(parts).pod.termination = { sinceMs: -1e9, stopping: false }
    await parts.file.update({ assignment: replicaOfEpoch3 })
    await vi.waitUntil(() => server.calls.includes('shutdown'), { timeout: 60_000 })
    process.state = 'dead'
    settable(parts).pod.leavesUntilMs = -Infinity
    await vi.waitUntil(() => parts.pod.hasLeft && parts.pod.termination !== null, { timeout: 60_000 })
    expect(launcher.quits).toBe(0)
    launcher.terminating = true
    await vi.waitUntil(() => launcher.quits === 1, { timeout: 60_000 })
  })

  it('waits as long as it counts, and goes on where the caller is gone', async () => {
    const { parts, server } = await beginLeaving('replica', { counted: true })
    await vi.waitUntil(() => parts.pod.termination !== null, { timeout: 60_000 })
    settable(parts).pod.termination = { sinceMs: -1e9, stopping: false }
    await vi.waitUntil(() => /out of the sync set/.test(String(parts.course.converged.sentence)), { timeout: 60_000 })
    settable(parts).pod.leavesUntilMs = -Infinity
    await vi.waitUntil(() => parts.pod.termination === null, { timeout: 60_000 })
    expect(server.calls).toEqual([])
  })

  it('is never ended as the primary, however long it waits, and starts again where it dies', async () => {
    const { parts, process, server } = await beginLeaving('primary')
    await parts.file.update({ assignment: { ...primaryOfEpoch3, acks: 0, counted: [] } })
    await vi.waitUntil(() => /another instance is primary/.test(String(parts.course.converged.sentence)), {
      timeout: 60_000,
    })
    settable(parts).pod.termination = { sinceMs: -1e9, stopping: false }
    settable(parts).course.converged = { ...parts.course.converged, sentence: '' }
    await vi.waitUntil(() => /another instance is primary/.test(String(parts.course.converged.sentence)), {
      timeout: 60_000,
    })
    expect(process.state).toBe('running')
    process.state = 'dead'
    await vi.waitUntil(() => parts.pod.termination === null, { timeout: 60_000 })
    expect(parts.pod.hasLeft).toBe(false)
    expect(server.calls).toEqual([])
  })

  it.each([
    ['primary', 'starting'],
    ['primary', 'stopped'],
    ['replica', 'starting'],
    ['replica', 'stopped'],
  ] as const)('is not ended as the %s whose mysqld is %s, while others may need it', async (role, state) => {
    const { parts, process } = await beginLeaving(role, { state, counted: true })
    await vi.waitUntil(
      () => /another instance is primary|out of the sync set/.test(String(parts.course.converged.sentence)),
      {
        timeout: 60_000,
      },
    )
    expect(process.state).toBe(state)
    expect(parts.pod.hasLeft).toBe(false)
  })

  it('has not left where it is a primary whose mysqld dies just as it is looked at: that one may have to start again', async () => {
    const { parts, process } = await begin('primary', new ScriptedServer(aServerState()), { state: 'starting' })
    watches?.stop()
    // Said between the look at who is wanted and the step that follows.
    const dies = { ...parts, changed: () => (process.state = 'dead') }
    const converger = new Converger(dies, () => undefined)
    converger.stop()
    termination = new Termination(dies, converger, null)
    settable(parts).pod.termination = null
    settable(parts).pod.leavesUntilMs = Infinity
    watches = watchesOf(dies)
    termination.watch(watches)
    await vi.waitUntil(() => process.state === 'dead' && parts.pod.termination === null, { timeout: 60_000 })
    expect(parts.pod.hasLeft).toBe(false)
  })
})

describe('An instance whose mysqld a person wants restarted', () => {
  async function beginRestarting(assignment: 'primary' | 'replica', more: { counted?: boolean } = {}) {
    const server = new ScriptedServer(aServerState())
    const scene = await begin(assignment, server, more)
    scene.launcher.terminating = false
    settable(scene.parts).pod.restartsUntilMs = Infinity
    const last = () => String(scene.parts.notices.list.at(-1)?.sentence)
    return { ...scene, server, last }
  }

  it('stops in order once it does not count, and starts again as soon as mysqld is down', async () => {
    const { parts, server, process, launcher, last } = await beginRestarting('replica', { counted: true })
    await vi.waitUntil(() => /out of the sync set/.test(String(parts.course.converged.sentence)), { timeout: 60_000 })
    await parts.file.update({ assignment: replicaOfEpoch3 })
    await vi.waitUntil(() => server.calls.includes('shutdown'), { timeout: 60_000 })
    expect(server.calls).toEqual(['stopReceiver', 'shutdown'])
    expect(parts.file.current.stoppedInOrder).toBe(true)
    process.state = 'dead'
    await vi.waitUntil(() => parts.pod.termination === null, { timeout: 60_000 })
    expect(last()).toBe('mysqld has stopped, and starts again')
    expect(parts.pod).toMatchObject({ restartsUntilMs: null, hasLeft: false })
    expect(launcher.quits).toBe(0)
  })

  it('goes on once the time of the wish is over, and says what it waited for', async () => {
    const { parts, server, process, last } = await beginRestarting('primary')
    await vi.waitUntil(() => /another instance is primary/.test(String(parts.course.converged.sentence)), {
      timeout: 60_000,
    })
    settable(parts).pod.restartsUntilMs = -Infinity
    await vi.waitUntil(() => parts.pod.termination === null, { timeout: 60_000 })
    expect(last()).toBe('mysqld is not restarted, for its time is over: mysqld stops once another instance is primary')
    expect(parts.pod.restartsUntilMs).toBeNull()
    expect([process.state, ...server.calls]).toEqual(['running'])
  })

  it('is not held up by the end of that time while mysqld stops', async () => {
    const { parts, server, process } = await beginRestarting('replica')
    await vi.waitUntil(() => server.calls.includes('shutdown'), { timeout: 60_000 })
    settable(parts).pod.restartsUntilMs = -Infinity
    await termination?.look()
    expect(parts.pod.termination).toMatchObject({ stopping: true })
    process.state = 'dead'
    await vi.waitUntil(() => parts.pod.termination === null, { timeout: 60_000 })
  })

  it('ends where its pod ends meanwhile', async () => {
    const { launcher, server, process } = await beginRestarting('replica')
    await vi.waitUntil(() => server.calls.includes('shutdown'), { timeout: 60_000 })
    launcher.terminating = true
    await termination?.look()
    process.state = 'dead'
    await vi.waitUntil(() => launcher.quits === 1, { timeout: 60_000 })
  })
})

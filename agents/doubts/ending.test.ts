import { describe, expect, it } from 'vitest'
import type { Observation } from '#topology/snapshot/observation.ts'
import { ObservationBuilder } from '../observe/observation.ts'
import { isEndingUnseen, judgeEndingFirst, mayBeEnding, SilenceWatch } from './ending.ts'
import { Lease } from '../guard/lease.ts'
import type { Parts } from '../instance/parts.ts'
import { aServerState, primaryOfEpoch3, ScriptedProcess, ScriptedServer, testParts } from '../testing.ts'
import { settable } from '../testing-known.ts'
import { doubtsOf, keepUnsettled, settle } from './unsettled.ts'
import type { Ending } from '../ports/volume.ts'

const stopped: Ending = { how: 'stopped', sentence: 'its error log says "Received SHUTDOWN"' }
const crashed: Ending = { how: 'crashed', sentence: 'killed' }

/** A server that answers once and then no more. */
class DyingServer extends ScriptedServer {
  dead = false
  override readonly readState = async () => {
    if (this.dead) throw new Error('no answer')
    return this.state
  }
}

/**
 * The agent of an open primary whose server has just fallen silent; a test says when and how each look into the log
 * ends.
 */
async function silentPrimary(role: 'primary' | 'replica' = 'primary') {
  const looks: ((ending: Ending) => void)[] = []
  const server = new DyingServer(aServerState())
  const process = new ScriptedProcess()
  const fixed = await testParts(server, {
    process,
    volume: { glanceAtEnding: () => new Promise((resolve) => looks.push(resolve)) },
  })
  const shown: Observation[] = []
  const parts: Parts = {
    ...fixed,
    timings: { ...fixed.timings, lookIntoLogMs: 50 },
    changed: () => shown.push(builder.build()),
  }
  const builder = new ObservationBuilder(parts, new Lease(parts, () => undefined), '0')
  if (role === 'primary') await parts.file.update({ promise: 3, revision: 10, assignment: primaryOfEpoch3 })
  await parts.observer.refresh()
  server.dead = true
  await parts.world.timers.sleep(5)
  await parts.observer.refresh().catch(() => undefined)
  const settled = () => parts.world.timers.sleep(10)
  return { parts, process, looks, shown, see: () => builder.build(), watch: new SilenceWatch(parts), settled }
}

describe('a primary that falls silent', () => {
  it('is not shown as silent before its error log was looked into', async () => {
    const { parts, looks, see, watch, settled } = await silentPrimary()
    expect(parts.observer.silentMs).toBeGreaterThan(0)
    expect(see().silentMs).toBe(0)
    watch.look()
    expect(see().silentMs).toBe(0)
    looks[0]?.(crashed)
    await settled()
    expect(see().silentMs).toBeGreaterThan(0)
    expect(see().stored.unsettled).toBe(false)
  })

  it('is shown as unsettled no later than as silent, before that is on disk, and is then ended', async () => {
    const { parts, process, looks, shown, watch, settled } = await silentPrimary()
    watch.look()
    looks[0]?.(stopped)
    await settled()
    expect(shown[0]).toMatchObject({ silentMs: expect.any(Number) as number, stored: { unsettled: true } })
    expect(shown.every(({ silentMs, stored }) => silentMs === 0 || stored.unsettled)).toBe(true)
    expect(parts.file.current.unsettled).toBe(true)
    expect(process.state).toBe('dead')
  })

  it('is shown as unsettled where its log cannot be read, and left alone: a marker may settle it', async () => {
    const { parts, process, looks, shown, see, watch, settled } = await silentPrimary()
    const unknown: Ending = { how: 'unknown', sentence: 'its error log is gone' }
    watch.look()
    looks[0]?.(unknown)
    await settled()
    expect(shown.every(({ silentMs, stored }) => silentMs === 0 || stored.unsettled)).toBe(true)
    expect(see()).toMatchObject({ process: 'running', stored: { unsettled: true } })
    expect(process.state).toBe('running')
    const asked = mayBeEnding(parts)
    looks[1]?.(unknown)
    expect(await asked).toBe(false)
  })

  it('is looked into again while it stays silent, and shows no more silence than that', async () => {
    const { parts, looks, see, watch, settled } = await silentPrimary()
    watch.look()
    looks[0]?.(crashed)
    await settled()
    const before = see().silentMs
    await settled()
    expect(see().silentMs).toBeLessThan(before + 5)
    expect(parts.observer.silentMs).toBeGreaterThan(before + 5)
    watch.look()
    looks[1]?.(stopped)
    await settled()
    expect(see().stored.unsettled).toBe(true)
  })

  it('is shown as silent all the same when the disk does not answer', async () => {
    const { parts, see, watch } = await silentPrimary()
    watch.look()
    await parts.world.timers.sleep(80)
    expect(see().silentMs).toBeGreaterThan(0)
    expect(see().stored.unsettled).toBe(false)
  })

  it.each([
    ['takes no write', () => Promise.reject(new Error('EROFS'))],
    ['answers no write', () => new Promise<never>(() => undefined)],
  ])('is shown as silent and unsettled where its log cannot be read, and the disk %s', async (_, update) => {
    const { parts, looks, shown, see, watch, settled } = await silentPrimary()
    parts.file.update = update
    watch.look()
    looks[0]?.({ how: 'unknown', sentence: 'its error log is gone' })
    await settled()
    expect(see().silentMs).toBeGreaterThan(0)
    expect(shown.every(({ silentMs, stored }) => silentMs === 0 || stored.unsettled)).toBe(true)
    expect(see().stored.unsettled).toBe(true)
  })

  it('is ended where others stop the server, also where the disk answers no write', async () => {
    const { parts, process, looks, watch } = await silentPrimary()
    parts.file.update = () => new Promise<never>(() => undefined)
    watch.look()
    looks[0]?.(stopped)
    await parts.world.timers.sleep(80)
    expect(process.state).toBe('dead')
  })

  it('is looked into once at a time where the disk answers nothing', async () => {
    const { parts, looks, watch } = await silentPrimary()
    watch.look()
    await parts.world.timers.sleep(80)
    watch.look()
    await parts.world.timers.sleep(10)
    expect(looks).toHaveLength(1)
    looks[0]?.(crashed)
    await parts.world.timers.sleep(10)
    expect(looks).toHaveLength(2)
  })

  it('is not shown as stopped by a signal before its error log was looked into', async () => {
    const { parts, process, looks, see, watch, settled } = await silentPrimary()
    Object.assign(process, { state: 'stopped', changedAtMs: parts.world.clock.monotonicMs() })
    expect(see().process).toBe('running')
    watch.look()
    looks[0]?.(crashed)
    await settled()
    expect(see().process).toBe('stopped')
  })
})

it('A replica that falls silent is shown so at once', async () => {
  const { parts, see } = await silentPrimary('replica')
  expect(parts.observer.silentMs).toBeGreaterThan(0)
  expect(see().silentMs).toBeGreaterThan(0)
})

it('A dead primary is shown so once its ending is judged, and unsettled where that was no crash', async () => {
  const { parts, process, looks, see } = await silentPrimary()
  process.state = 'dead'
  expect(isEndingUnseen(parts)).toBe(true)
  expect(see().process).toBe('running')
  const judged = judgeEndingFirst(parts)
  looks[0]?.(stopped)
  await judged
  settable(parts).doubts.endingJudged = true
  expect(see()).toMatchObject({ process: 'dead', stored: { unsettled: true } })
})

describe('A dead primary is shown so, and unsettled, where its disk', () => {
  it('answers nothing', async () => {
    const { parts, process, see } = await silentPrimary()
    process.state = 'dead'
    await Promise.race([judgeEndingFirst(parts), parts.world.timers.sleep(1_000).then(() => expect.fail('waits'))])
    settable(parts).doubts.endingJudged = true
    expect(see()).toMatchObject({ process: 'dead', stored: { unsettled: true } })
  })

  it.each([
    ['takes no write', () => Promise.reject(new Error('EROFS'))],
    ['answers no write', () => new Promise<never>(() => undefined)],
  ])('%s', async (_, update) => {
    const { parts, process, looks, see } = await silentPrimary()
    process.state = 'dead'
    const stored = parts.file.update.bind(parts.file)
    parts.file.update = update
    const judged = judgeEndingFirst(parts).catch(() => undefined)
    looks[0]?.(stopped)
    await Promise.race([judged, parts.world.timers.sleep(1_000).then(() => expect.fail('waits'))])
    settable(parts).doubts.endingJudged = true
    expect(see()).toMatchObject({ process: 'dead', stored: { unsettled: true } })
    // The start gate stores it before anything is started or cut.
    parts.file.update = stored
    await keepUnsettled(parts)
    await settle(parts, doubtsOf(parts))
    expect(see().stored.unsettled).toBe(false)
  })
})

it('What a server says while it is being stopped is told from what it says otherwise', async () => {
  const { parts, looks } = await silentPrimary()
  const first = mayBeEnding(parts)
  looks[0]?.(crashed)
  expect(await first).toBe(false)
  const second = mayBeEnding(parts)
  looks[1]?.(stopped)
  expect(await second).toBe(true)
})

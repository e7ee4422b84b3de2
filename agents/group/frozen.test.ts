import { describe, expect, it } from 'vitest'
import type { GroupShape } from '#topology/testing-group.ts'
import { inGroup } from '#topology/testing-group.ts'
import { aServerState, ScriptedProcess, ScriptedServer, testParts } from '../testing.ts'
import { FrozenWatch } from './frozen.ts'

interface Shown {
  readonly sees?: GroupShape
  readonly state?: ScriptedProcess['state']
  readonly forMs?: number
  readonly probe?: 'ok' | 'stuck'
  readonly freeBytes?: number
  readonly election?: keyof typeof looking
}

/** A look, and the election that goes with that look. */
const looking = {
  none: (watch: FrozenWatch) => watch.look(),
  'under way': (watch: FrozenWatch) => watch.whileElecting(() => watch.look()),
  over: (watch: FrozenWatch) => watch.whileElecting(async () => undefined).then(() => watch.look()),
}

/** Whether the mysqld of shop-0 is ended that looks like this. */
async function isEnded({ election = 'none', ...shown }: Shown) {
  const { sees = {}, state = 'running', forMs = 1_300, probe = 'stuck', freeBytes = 1e9 } = shown
  const server = aServerState(inGroup('shop-0', sees))
  const process = new ScriptedProcess()
  const parts = await testParts(new ScriptedServer(server), { process })
  const changedAtMs = parts.world.clock.monotonicMs() - forMs
  Object.assign(process, { state, changedAtMs })
  const observer = {
    server,
    silentMs: state === 'running' ? forMs : 0,
    probe: { result: probe, detail: '' },
    freeBytes,
  }
  const config = { ...parts.config, lowSpaceBytes: 1e6 }
  const watch = new FrozenWatch({ ...parts, config, observer: observer as unknown as typeof parts.observer })
  await looking[election](watch)
  expect(parts.notices.list.map(({ code }) => code)).toEqual(process.state === 'dead' ? ['HungServer'] : [])
  return process.state === 'dead'
}

const secondary = { primary: 'shop-1' }

describe('The agent of a member ends a mysqld', () => {
  it.each<[string, Shown]>([
    ['of a primary that was stopped', { state: 'stopped' }],
    ['of a secondary that was stopped', { state: 'stopped', sees: secondary }],
    ['of a primary that answers neither its agent nor a write', {}],
    ['of a primary that was stopped while the group elected', { state: 'stopped', election: 'under way' }],
  ])('%s', async (_, shown) => {
    expect(await isEnded(shown)).toBe(true)
  })
})

describe('The agent of a member leaves a mysqld as it is', () => {
  it.each<[string, Shown]>([
    ['that was stopped a moment ago', { state: 'stopped', forMs: 700 }],
    ['that has not answered for a moment', { forMs: 1_000 }],
    ['of a primary on whose word the group elects', { election: 'under way' }],
    ['of a primary that has not answered since the group elected a moment ago', { election: 'over' }],
    ['of a primary where writes go through', { probe: 'ok' }],
    ['of a secondary that is only slow to answer: nobody waits for its answers', { sees: secondary }],
    ['without which the others are no majority', { sees: { members: { 'shop-0': 'ONLINE', 'shop-1': 'ONLINE' } } }],
    [
      'of three of which one is lost already',
      { sees: { members: { 'shop-0': 'ONLINE', 'shop-1': 'ONLINE', 'shop-2': 'UNREACHABLE' } } },
    ],
    ['that is no member', { state: 'stopped', sees: { state: 'OFFLINE' } }],
    ['that waits for space', { freeBytes: 10 }],
    ['that is dead already', { state: 'exiting' }],
  ])('%s', async (_, shown) => {
    expect(await isEnded(shown)).toBe(false)
  })
})

import { say } from '#common/sentence/sentence.ts'
import { expect, it } from 'vitest'
import { Converger } from '../converge/converger.ts'
import type { OtherServer } from '../ports/process.ts'
import {
  aServerState,
  primaryOfEpoch3,
  replicaOfEpoch3,
  ScriptedProcess,
  ScriptedServer,
  testParts,
} from '../testing.ts'
import { settable } from '../testing-known.ts'
import type { StoredState } from '../instance/stored-state.ts'

/** mysqld is down, and another hand has started one on its volume; each step of its agent is told in its order. */
async function startedByHand(stored: Partial<StoredState>, startedClosed: boolean) {
  const told: string[] = []
  class ByHand extends ScriptedProcess {
    override state = 'dead' as ScriptedProcess['state']
    other: OtherServer | null = {
      pid: 77,
      startedClosed,
      end: async () => {
        const { unsettled, opened } = parts.file.current
        told.push(`ended, unsettled ${unsettled}, opened ${opened}`)
        this.other = null
      },
    }
    findOther = async () => this.other
    override readonly start = async (): Promise<void> => void told.push('started')
  }
  const process = new ByHand()
  const parts = await testParts(new ScriptedServer(aServerState()), {
    process,
    volume: { readBinlogSet: async () => (told.push('files read'), '') },
  })
  await parts.file.update({ promise: 3, revision: 10, ...stored })
  const converger = new Converger(parts, () => undefined)
  return { parts, converger, told, notices: () => parts.notices.list.map(({ code }) => code) }
}

const deadPrimary = { assignment: primaryOfEpoch3, mayHaveTail: true }

it('A mysqld that a hand starts on the volume of a primary that stays down is ended, in doubt first, before files are read', async () => {
  const { converger, told, notices } = await startedByHand(deadPrimary, true)
  await converger.pass()
  converger.stop()
  expect(told.slice(0, 2)).toEqual(['ended, unsettled true, opened false', 'files read'])
  expect(told).not.toContain('started')
  expect(notices()).toContain('StartedByHand')
})

it('Is ended before a promise reports what the volume holds, and what was reported before is asked again', async () => {
  const { parts, converger, told } = await startedByHand({ ...deadPrimary, promise: 4 }, true)
  settable(parts).course.binlogSet = 'what was read before'
  await converger.keepPromise()
  expect(told.slice(0, 2)).toEqual(['ended, unsettled true, opened false', 'files read'])
})

it.each([
  ['with the settings of the agent', true, false],
  ['with settings that do not close it', false, true],
])('Of a replica, started %s: counts as opened %s', async (_, startedClosed, opened) => {
  const { converger, told } = await startedByHand({ assignment: replicaOfEpoch3 }, startedClosed)
  await converger.pass()
  converger.stop()
  expect(told).toEqual([`ended, unsettled false, opened ${opened}`, 'started'])
})

it('Of the primary of a group, which has no tail: counts as opened where the settings do not close it', async () => {
  const { converger, told } = await startedByHand({ assignment: primaryOfEpoch3, mayHaveTail: false }, false)
  await converger.pass()
  converger.stop()
  expect(told[0]).toBe('ended, unsettled false, opened true')
})

it('Is left to whoever replaces its files', async () => {
  const { parts, converger, told } = await startedByHand({ assignment: replicaOfEpoch3, seeding: true }, true)
  settable(parts).copying.progress = { stage: say`copying`, percent: 1, donor: 'shop-1', movedAtMs: null }
  await converger.pass()
  converger.stop()
  expect(told).toEqual([])
})

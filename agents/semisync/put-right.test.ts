import { describe, expect, it } from 'vitest'
import type { ServerOverrides } from '#topology/testing.ts'
import { lifeOf } from '../instance/life.ts'
import { aServerState, primaryOfEpoch3, ScriptedServer, testParts } from '../testing.ts'
import { settable } from '../testing-known.ts'
import { passAsPrimary } from '../testing-passes.ts'

const asAssigned: ServerOverrides = {
  readOnly: true,
  superReadOnly: false,
  offlineMode: true,
  channel: null,
  openGates: ['shop-1', 'shop-2'],
  semiSyncSource: { enabled: true, acks: 1 },
}

/** Waits for acknowledgements as it is told to; nobody acknowledges its markers. */
class UnheardServer extends ScriptedServer {
  override setSemiSyncSource = async (acks: number): Promise<void> => {
    this.calls.push(`semiSyncSource ${acks}`)
    this.state = { ...this.state, semiSyncSource: { ...this.state.semiSyncSource, enabled: true, intact: true, acks } }
  }
  override readonly writeMarker = (): Promise<void> => new Promise(() => void this.calls.push('marker'))
}

/** Started again in place: it waits for its marker. Resolves to what the next pass does, where this was changed. */
async function whatIsDone(byHand: ServerOverrides, assignment = primaryOfEpoch3) {
  const server = new UnheardServer(aServerState(asAssigned))
  const parts = await testParts(server)
  await parts.file.update({ promise: 3, revision: 10, assignment: primaryOfEpoch3 })
  settable(parts).course.reopening = true
  await passAsPrimary(parts, primaryOfEpoch3, server.state)
  expect(lifeOf(parts).stage).toMatchObject({ step: 'gated', inPlace: true })
  const first = server.calls.splice(0)
  server.state = aServerState({ ...asAssigned, ...byHand })
  await passAsPrimary(parts, assignment, server.state)
  return { parts, first, then: server.calls }
}

describe('A primary that is offline until a marker is acknowledged', () => {
  it.each<[string, NonNullable<ServerOverrides['semiSyncSource']>]>([
    ['switched off', { enabled: false, acks: 1 }],
    ['set to fewer', { enabled: true, acks: 0 }],
    ['gave a time-out', { enabled: true, acks: 1, intact: false }],
  ])(
    'waits for acknowledgements again that a hand %s, and doubts what returned meanwhile',
    async (_, semiSyncSource) => {
      const { parts, then } = await whatIsDone({ semiSyncSource })
      expect(then).toEqual(['semiSyncSource 1'])
      expect(parts.file.current.unsettled).toBe(true)
      expect(String(parts.course.converged.sentence)).toBe('offline until 1 replica acknowledges a marker')
    },
  )

  it('doubts that, too, where a new assignment sets them before anybody saw the hand', async () => {
    const [off, newer] = [{ semiSyncSource: { enabled: false, acks: 1 } }, { ...primaryOfEpoch3, revision: 11 }]
    expect((await whatIsDone(off, newer)).parts.file.current.unsettled).toBe(true)
    expect((await whatIsDone({}, newer)).parts.file.current.unsettled).toBe(false)
  })

  it('opens the gates again that a hand closed, and doubts nothing', async () => {
    const { parts, then } = await whatIsDone({ openGates: ['shop-1'] })
    expect(then).toEqual(['gates shop-1,shop-2'])
    expect(parts.file.current.unsettled).toBe(false)
  })

  it('puts a setting right on which durability rests, once the doubt is on disk', async () => {
    const { parts, then } = await whatIsDone({ changedSettings: [{ name: 'sync_binlog', seen: '0', wanted: '1' }] })
    expect(then).toEqual(['set sync_binlog 1'])
    expect(parts.file.current.unsettled).toBe(true)
  })

  it('changes nothing where nobody changed anything, and takes what it set itself for nobody’s hand', async () => {
    const { parts, first, then } = await whatIsDone({})
    expect(first.filter((call) => call === 'semiSyncSource 1' || call.startsWith('gates'))).toHaveLength(2)
    expect(then).toEqual([])
    expect(parts.notices.list).toEqual([])
  })
})

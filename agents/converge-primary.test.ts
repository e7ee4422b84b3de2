import { describe, expect, it } from 'vitest'
import { gtids } from '../topology/testing.ts'
import { convergePrimary } from './converge-primary.ts'
import { Markers } from './marker.ts'
import { aServerState, primaryOfEpoch3, ScriptedServer, testParts } from './testing.ts'

const closed = { readOnly: true, superReadOnly: true, offlineMode: true }
const stoppedChannel = { ioRunning: 'no', sqlRunning: true } as const

describe('opening a promoted replica', () => {
  it('applies all that was received when its receiver had stopped, whatever was seen before', async () => {
    const server = new ScriptedServer(aServerState({ ...closed, channel: stoppedChannel, received: gtids('shop-1', 9) }))
    const parts = await testParts(server)
    const seenEarlier = aServerState({ ...closed, channel: stoppedChannel, received: gtids('shop-1', 5) })
    await convergePrimary(parts, primaryOfEpoch3, seenEarlier, new Markers(parts, () => undefined))
    expect(server.calls.indexOf(`waitExecuted ${gtids('shop-1', 9)}`)).toBeGreaterThan(server.calls.indexOf('stopReceiver'))
    expect(server.calls.indexOf('forgetSource')).toBeGreaterThan(server.calls.indexOf(`waitExecuted ${gtids('shop-1', 9)}`))
  })
})

describe('a channel of an opened primary', () => {
  const open = { readOnly: false, superReadOnly: false, offlineMode: false }
  /** It executed 1–100 of its own uuid. */
  const withChannel = (received: string) => aServerState({ ...open, channel: stoppedChannel, received })

  async function converged(server: ScriptedServer, openedPid: number | null): Promise<void> {
    const parts = await testParts(server)
    parts.memory.openedPid = openedPid
    await convergePrimary(parts, primaryOfEpoch3, server.state, new Markers(parts, () => undefined))
  }

  it('is forgotten once everything it received is applied', async () => {
    const server = new ScriptedServer(withChannel(gtids('shop-0', 90)))
    await converged(server, 1_000)
    expect(server.calls.indexOf('forgetSource')).toBeGreaterThan(server.calls.indexOf('stopReceiver'))
  })

  it('is kept, and applied, while something it received is not applied', async () => {
    const server = new ScriptedServer(withChannel(gtids('shop-1', 9)))
    await converged(server, 1_000)
    expect(server.calls).not.toContain('forgetSource')
    expect(server.calls).toContain('startApplier')
  })

  it('makes a replica that somebody opened by hand be promoted as any other: what it received is applied before anybody writes', async () => {
    const server = new ScriptedServer(withChannel(gtids('shop-1', 9)))
    await converged(server, null)
    const applied = server.calls.indexOf(`waitExecuted ${gtids('shop-1', 9)}`)
    expect(server.calls.indexOf('offline on')).toBeGreaterThanOrEqual(0)
    expect(applied).toBeGreaterThan(server.calls.indexOf('offline on'))
    expect(server.calls.indexOf('readOnly open')).toBeGreaterThan(applied)
  })
})

describe('a primary that was demoted and goes on', () => {
  it('changes its gates, which a super read-only server refuses, and opens', async () => {
    const server = new ScriptedServer(aServerState({ ...closed, openGates: ['shop-1', 'shop-2', 'shop-3'] }))
    const parts = await testParts(server)
    parts.memory.openedPid = parts.process.pid
    let superReadOnly = true
    const setReadOnly = server.setReadOnly
    server.setReadOnly = async (to) => {
      superReadOnly = to === 'closed'
      await setReadOnly(to)
    }
    server.setGates = async (open) => {
      if (superReadOnly) throw new Error('The MySQL server is running with the --super-read-only option')
      server.calls.push(`gates ${open.join(',')}`)
    }
    await convergePrimary(parts, primaryOfEpoch3, server.state, new Markers(parts, () => undefined))
    expect(server.calls).toContain('gates shop-1,shop-2')
    expect(server.calls.indexOf('readOnly open')).toBeGreaterThan(server.calls.indexOf('gates shop-1,shop-2'))
  })
})

describe('a fenced primary', () => {
  it('writes no marker', async () => {
    const server = new ScriptedServer(aServerState({ ...closed, openGates: ['shop-1', 'shop-2'], semiSyncSource: { enabled: true, acks: 1 } }))
    const parts = await testParts(server)
    parts.memory.openedPid = parts.process.pid
    await convergePrimary(parts, { ...primaryOfEpoch3, fenced: true }, server.state, new Markers(parts, () => undefined))
    expect(server.calls.filter((call) => call.startsWith('marker'))).toEqual([])
    expect(parts.memory.converged).toMatchObject({ revision: 10, done: false })
  })
})

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

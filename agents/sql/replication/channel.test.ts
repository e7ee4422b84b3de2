import { describe, expect, it } from 'vitest'
import { realWorld } from '#common/ports/real-world.ts'
import { gtids } from '#topology/testing.ts'
import { channelFrom, ChannelPulse } from './channel.ts'

interface Look {
  readonly io: 'Yes' | 'No' | 'Connecting'
  readonly errno?: number
  readonly heartbeats?: number
  readonly received?: string
}

/** What is shown of a receiver at one look after the other. */
function shownAt(looks: readonly Look[]): readonly string[] {
  const pulse = new ChannelPulse(realWorld.clock, { encrypts: true })
  return looks.map(({ io, errno = 0, heartbeats = 0, received = '' }) => {
    const row = {
      Channel_Name: '',
      Source_Host: '127.24.1.1',
      Replica_IO_Running: io,
      Last_IO_Errno: errno,
      Retrieved_Gtid_Set: received,
    }
    const status = pulse.from([row], [{ heartbeats, silentMicros: 0 }])
    return status === null ? 'none' : channelFrom(status, { semiSync: true, backlog: 0 }).ioRunning
  })
}

const refused: Look = { io: 'No', errno: 13_114 }

describe('a receiver that runs', () => {
  it('is connected at the first look, also after it was not let in for a while', () => {
    expect(shownAt([{ io: 'Yes' }])).toEqual(['yes'])
    expect(shownAt([{ io: 'Connecting', errno: 1_045 }, { io: 'Yes' }])).toEqual(['connecting', 'yes'])
  })

  it('and stopped with an error before is not, however often it is seen to run, until a heartbeat has come', () => {
    expect(shownAt([{ io: 'Yes' }, refused, { io: 'Yes' }, refused, { io: 'Yes' }, { io: 'Yes' }])).toEqual([
      'yes',
      'no',
      'connecting',
      'no',
      'connecting',
      'connecting',
    ])
    expect(shownAt([refused, { io: 'Yes' }, { io: 'Yes', heartbeats: 1 }, { io: 'Yes', heartbeats: 1 }])).toEqual([
      'no',
      'connecting',
      'yes',
      'yes',
    ])
  })

  it('… or a transaction', () => {
    const received = gtids('shop-0', 5)
    expect(shownAt([refused, { io: 'Yes', received }, { io: 'Yes', received: gtids('shop-0', 6) }])).toEqual([
      'no',
      'connecting',
      'yes',
    ])
  })

  it('is doubted anew when it stops again', () => {
    expect(
      shownAt([
        refused,
        { io: 'Yes' },
        { io: 'Yes', heartbeats: 1 },
        refused,
        { io: 'Yes', heartbeats: 1 },
        { io: 'Yes', heartbeats: 1 },
      ]),
    ).toEqual(['no', 'connecting', 'yes', 'no', 'connecting', 'connecting'])
  })

  it('was stopped in order, and started, is connected at once', () => {
    expect(shownAt([{ io: 'No' }, { io: 'Yes' }])).toEqual(['no', 'yes'])
  })
})

it('A channel tells up to when it has applied, and nothing where it has not applied anything', () => {
  const row = { Channel_Name: '', Source_Host: '127.24.1.1', Replica_IO_Running: 'Yes' }
  const shown = (appliedUpToMs: unknown) => {
    const pulse = new ChannelPulse(realWorld.clock, { encrypts: true })
    const status = pulse.from([row], [{ silentMicros: 0, appliedUpToMs }])
    return status === null ? 'none' : channelFrom(status, { semiSync: true, backlog: 0 }).appliedUpToMs
  }
  expect(['1800000000123', '0', null].map(shown)).toEqual([1_800_000_000_123, undefined, undefined])
})

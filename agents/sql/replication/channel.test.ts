import { describe, expect, it } from 'vitest'
import { realWorld } from '#common/ports/real-world.ts'
import { gtids } from '#topology/testing.ts'
import type { Row } from '../connections/statements.ts'
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

describe('an applier that stopped', () => {
  const row = { Channel_Name: '', Source_Host: '127.24.1.1', Replica_SQL_Running: 'No' }
  const errorOf = (shown: Row, workerError: string | null = null): string | undefined => {
    const status = new ChannelPulse(realWorld.clock, { encrypts: true }).from([{ ...row, ...shown }], [{ workerError }])
    return status === null ? undefined : channelFrom(status, { semiSync: true, backlog: 0 }).sqlError
  }

  it('is shown with the number of its error, which tells what that was', () => {
    expect(errorOf({ Last_SQL_Error: 'The threads are stopped', Last_SQL_Errno: 1756 })).toBe(
      'The threads are stopped, Error_code: 1756',
    )
    expect(errorOf({ Last_SQL_Error: 'Duplicate, Error_code: 1062; handler', Last_SQL_Errno: 1062 })).toBe(
      'Duplicate, Error_code: 1062; handler',
    )
  })

  it('is shown with the error of its worker where that has one', () => {
    const coordinator = { Last_SQL_Error: 'Coordinator stopped because of a worker', Last_SQL_Errno: 1062 }
    expect(errorOf(coordinator, 'Duplicate, Error_code: 1062')).toBe('Duplicate, Error_code: 1062')
  })

  it('has no error where a hand stopped it', () => {
    expect(errorOf({ Last_SQL_Error: '', Last_SQL_Errno: 0 })).toBe('')
  })
})

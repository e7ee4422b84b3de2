import { describe, expect, it } from 'vitest'
import { ReadPlace } from './read-place.ts'

type Shown = readonly [file: string, position: number, more?: Readonly<Record<string, string>>]

/** What is told at one look after the other. */
function told(...looks: readonly Shown[]) {
  const place = new ReadPlace()
  return looks.map(([file, position, more]) =>
    place.from({
      Replica_IO_Running: 'Yes',
      Source_UUID: 'a',
      Source_Log_File: file,
      Read_Source_Log_Pos: position,
      ...more,
    }),
  )
}

describe('How far a receiver has read', () => {
  it('is the place of the look before: all up to there is received by now', () => {
    expect(told(['binlog.000007', 100], ['binlog.000007', 300], ['binlog.000008', 4])).toEqual([
      null,
      { file: 7, position: 100 },
      { file: 7, position: 300 },
    ])
  })

  it('is the earlier place where it went back, as one that connects anew does', () => {
    expect(told(['binlog.000007', 900], ['binlog.000005', 4], ['binlog.000005', 800]).slice(1)).toEqual([
      { file: 5, position: 4 },
      { file: 5, position: 4 },
    ])
  })

  it('is unknown while it is not connected, and at the first look after that, or at another source', () => {
    const connecting = { Replica_IO_Running: 'Connecting' }
    expect(told(['binlog.000007', 1], ['binlog.000007', 1, connecting], ['binlog.000007', 1])).toEqual([
      null,
      null,
      null,
    ])
    expect(told(['binlog.000007', 1], ['binlog.000002', 9, { Source_UUID: 'b' }])).toEqual([null, null])
    expect(told(['', 4], ['', 4])).toEqual([null, null])
  })
})

import { beforeEach, describe, expect, it } from 'vitest'
import { gtids } from '#topology/testing.ts'
import { Starts } from './starts.ts'

const set = (last: number): string => gtids('shop-0', last)

describe('Places from which a binlog need be read', () => {
  let starts = new Starts()
  const look = (binlogPosition: number, executed: string, owned = '', binlogNumber = 7): void =>
    starts.add({ binlogNumber, binlogPosition, executed, owned })
  const known = (file = 7) => starts.of(file).map(({ from, executed, through }) => [from, executed.toString(), through])

  beforeEach(() => {
    starts = new Starts()
    look(100, set(1))
    starts.head = Buffer.from('how it begins')
  })

  it('are known by a later look, which saw all before them as executed', () => {
    look(200, set(10))
    expect(known()).toEqual([])
    look(300, set(12))
    expect(known()).toEqual([[200, set(12), 300]])
    look(400, set(13))
    look(400, set(14))
    expect(known()).toEqual([
      [400, set(14), 400],
      [300, set(13), 400],
      [200, set(12), 300],
    ])
  })

  it('are not known while somebody may own what lies before them', () => {
    look(200, set(10))
    const other = gtids('shop-1', 3)
    look(300, set(12), `${gtids('shop-0', 12)},${other}`)
    expect(known()).toEqual([])
    // What is owned since then lies behind; what is owned no more, and not executed, is in no binlog.
    look(400, set(14), `${other},${gtids('shop-2', 9)}`)
    expect(known()).toEqual([])
    look(500, set(15), gtids('shop-2', 9))
    expect(known()).toEqual([[200, set(15), 500]])
  })

  it('do not come from looks before the beginning of the file was read', () => {
    starts = new Starts()
    look(200, set(10))
    starts.head = Buffer.from('how it begins')
    look(300, set(12))
    expect(known()).toEqual([])
  })

  it('are forgotten with the file, and where the server has less than before', () => {
    look(200, set(10))
    look(300, set(12))
    look(150, set(13), '', 8)
    expect(known()).toEqual([])
    expect(starts.head).toBeNull()
    starts.head = Buffer.from('another')
    look(200, set(14), '', 8)
    look(300, set(15), '', 8)
    expect(known(8)).toHaveLength(1)
    look(400, set(3), '', 8)
    expect(known(8)).toEqual([])
    expect(starts.head).toBeNull()
  })

  it('stay few, the newest and some older ones, and none for each look at a server that rests', () => {
    for (let at = 2; at < 1_000; at += 1) look(100 * at, set(at))
    look(200_000, set(1_001))
    for (let at = 0; at < 50; at += 1) look(200_000, set(1_001))
    expect(known().length).toBeLessThanOrEqual(16)
    expect(known()[0]).toEqual([200_000, set(1_001), 200_000])
    expect(known().at(-1)?.[0]).toBeLessThan(50_000)
  })
})

import { describe, expect, it } from 'vitest'
import { stepsBetween, gate, primarySlot, readSlotsOf, type Slot } from './haproxy-state.ts'

const at = (host: string, changes: Partial<Slot> = {}): Slot => ({
  host,
  port: 3306,
  state: 'ready',
  weight: 100,
  ...changes,
})

describe('commands for HAProxy', () => {
  it('are none where all is as wanted', () => {
    const slots = new Map([[primarySlot, at('10.0.0.1')]])
    expect(stepsBetween(slots, slots)).toEqual([])
  })

  it('end the sessions of an address that moves, and open the gate in a step of its own, the last', () => {
    const is = new Map([
      [gate, at('127.0.0.1', { state: 'maint' })],
      [primarySlot, at('10.0.0.1')],
    ])
    const wanted = new Map([
      [gate, at('127.0.0.1')],
      [primarySlot, at('10.0.0.2')],
    ])
    expect(stepsBetween(is, wanted)).toEqual([
      ['set server primary/primary addr 10.0.0.2 port 3306', 'shutdown sessions server primary/primary'],
      ['set server gate/open state ready'],
    ])
  })

  it('close the gate before anything moves', () => {
    const is = new Map([
      [primarySlot, at('10.0.0.1')],
      [gate, at('127.0.0.1')],
    ])
    const wanted = new Map([
      [primarySlot, at('127.0.0.1', { port: 1 })],
      [gate, at('127.0.0.1', { state: 'maint' })],
    ])
    expect(stepsBetween(is, wanted)[0]?.[0]).toBe('set server gate/open state maint')
  })

  it('leave the sessions of a server that is drained, and end those of one that is shut', () => {
    const is = new Map([['reads/r1', at('10.0.0.1')]])
    const to = (state: Slot['state']) => stepsBetween(is, new Map([['reads/r1', at('10.0.0.1', { state })]])).flat()
    expect(to('drain')).toEqual(['set server reads/r1 state drain'])
    expect(to('maint')).toEqual(['set server reads/r1 state maint', 'shutdown sessions server reads/r1'])
  })
})

describe('the state that HAProxy tells', () => {
  const row = (server: string, address: string, admin: number, port: number) =>
    `5 reads 1 ${server} ${address} 2 ${admin} 100 100 3 1 0 0 0 0 0 0 - ${port} - 0 0 - - 0`

  it('is read by server', () => {
    const text = `1\n# be_id be_name …\n${row('r0', '10.0.0.1', 0, 3306)}\n${row('r1', '10.0.0.2', 8, 3306)}\n${row('r2', '127.0.0.1', 5, 1)}\n\n`
    expect(Object.fromEntries(readSlotsOf(text))).toEqual({
      'reads/r0': at('10.0.0.1'),
      'reads/r1': at('10.0.0.2', { state: 'drain' }),
      'reads/r2': at('127.0.0.1', { port: 1, state: 'maint' }),
    })
  })

  it('is not taken from a part of an answer: lines that are left out would be led anew, and their sessions end', () => {
    const whole = `1\n${row('r0', '10.0.0.1', 0, 3306)}\n${row('r1', '10.0.0.2', 0, 3306)}\n\n`
    for (const length of [1, 2].map((lines) => whole.split('\n', lines + 1).join('\n').length))
      expect(() => readSlotsOf(whole.slice(0, length + 1))).toThrow(/did not tell the whole state/)
    expect(() => readSlotsOf(whole.slice(0, -1))).toThrow(/did not tell the whole state/)
    expect(readSlotsOf(whole).size).toBe(2)
  })

  it.each(['', 'Unknown command', '5 reads 1', '\u0000\u0000', '1\n# be_id', '1\n# be_id\n\n'])(
    'is not taken from %j',
    (text) => {
      expect(() => readSlotsOf(text)).toThrow(/did not tell/)
    },
  )
})

import { expect, it } from 'vitest'
import { say } from '#common/sentence/sentence.ts'
import { gate, primarySlot } from './haproxy-state.ts'
import { ledNowhere, wantedSlots, type Leading, type Led } from './wanted-slots.ts'
import type { KnownInstance, WhereTo } from './where-to.ts'

const [first, second] = ['shop-0', 'shop-1'].map((name, at): KnownInstance => ({
  name,
  host: `10.0.0.${at}`,
  port: 3306,
  word: null,
  isGone: false,
})) as [KnownInstance, KnownInstance]

function lead(before: Led, where: Partial<WhereTo>, more: Partial<Leading> = {}) {
  const all: WhereTo = {
    write: first,
    keepSessionsOf: 'shop-0',
    reads: [
      { name: 'shop-0', state: 'kept', weight: 100 },
      { name: 'shop-1', state: 'open', weight: 50 },
    ],
    sentence: say`a test`,
    epoch: 1,
    ...where,
  }
  return wantedSlots(before, { where: all, instances: [first, second], drainMs: 1_000, nowMs: 0, ...more })
}

const place = ({ slots }: ReturnType<typeof lead>, slot: string) => {
  const { host, port, state } = slots.get(slot) ?? { host: '', port: 0, state: '' }
  return `${host}:${port} ${state}`
}

it('The primary and the readers are where they are decided to be', () => {
  const now = lead(ledNowhere, {})
  expect(place(now, gate)).toBe('127.0.0.1:1 ready')
  expect(place(now, primarySlot)).toBe('10.0.0.0:3306 ready')
  expect(place(now, 'reads/r0')).toBe('10.0.0.0:3306 drain')
  expect(place(now, 'reads/r1')).toBe('10.0.0.1:3306 ready')
  expect(now.slots.get('reads/r1')?.weight).toBe(50)
  expect(place(now, 'reads/r2')).toBe('127.0.0.1:1 maint')
})

it('While sessions wait, those that are open stay or are led nowhere, as decided', () => {
  const { led } = lead(ledNowhere, {})
  const waiting = (keepSessionsOf: string | null) => lead(led, { write: null, keepSessionsOf })
  for (const kept of ['shop-0', null]) {
    expect(place(waiting(kept), gate)).toBe('127.0.0.1:1 maint')
    expect(place(waiting(kept), primarySlot)).toBe('10.0.0.0:3306 ready')
  }
  for (const gone of ['', 'shop-1']) expect(place(waiting(gone), primarySlot)).toBe('127.0.0.1:1 ready')
})

it('Sessions of an instance that is not heard stay where they are, wherever its agent is looked for', () => {
  const { led } = lead(ledNowhere, {})
  const elsewhere = [first, second].map((one) => ({ ...one, host: `10.9.9.9` }))
  const lost = {
    write: null,
    reads: [first, second].map(({ name }) => ({ name, state: 'kept' as const, weight: 100 })),
  }
  const waiting = lead(led, lost, { instances: elsewhere })
  expect(place(waiting, primarySlot)).toBe('10.0.0.0:3306 ready')
  expect(place(waiting, 'reads/r1')).toBe('10.0.0.1:3306 drain')
})

it('An instance without an address has no place', () => {
  const waiting = lead(
    ledNowhere,
    { write: null, reads: [{ name: 'shop-0', state: 'kept', weight: 100 }] },
    { instances: [{ ...first, host: '' }] },
  )
  expect(place(waiting, 'reads/r0')).toBe('127.0.0.1:1 maint')
})

it('Sessions at a replica that left go on until their deadline', () => {
  const { led } = lead(ledNowhere, {})
  const left = (before: Led, nowMs: number) => lead(before, { reads: [] }, { instances: [first], nowMs })
  const draining = left(led, 10)
  expect(place(draining, 'reads/r1')).toBe('10.0.0.1:3306 drain')
  const later = left(draining.led, 1_009)
  expect(place(later, 'reads/r1')).toBe('10.0.0.1:3306 drain')
  expect(place(left(later.led, 1_010), 'reads/r1')).toBe('127.0.0.1:1 maint')
})

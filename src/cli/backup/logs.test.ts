import { expect, it } from 'vitest'
import { saidIn } from './logs.ts'

const nowMs = Date.UTC(2026, 10, 26, 3, 12, 9)
const agent = { failure: '', watches: [], facts: [] }
const step = (agoMs: number, name: string, sentence: string, kind: 'backup' | 'rehearsal' = 'backup') => ({
  ...{ agoMs, kind },
  ...{ name, sentence },
})
const agents = [
  { ...agent, instance: 'shop-0', runs: [step(9_000, 'b', 'copied'), step(1_000, 'b', 'made')] },
  { ...agent, instance: 'shop-1', runs: [step(5_000, 'r', 'rehearsed', 'rehearsal')] },
  { ...agent, instance: 'shop-2', failure: 'it is silent', runs: [] },
]

it('Steps of runs are in the order of their times, with who ran them, and who is silent is named', () => {
  const { steps, silent } = saidIn(agents, nowMs)
  expect(steps.map(({ at, instance, sentence }) => `${at.slice(14, 19)} ${instance} ${sentence}`)).toEqual([
    '12:00 shop-0 copied',
    '12:04 shop-1 rehearsed',
    '12:08 shop-0 made',
  ])
  expect(silent).toEqual([{ instance: 'shop-2', failure: 'it is silent' }])
})

it('Steps of one run are had by its name', () => {
  expect(saidIn(agents, nowMs, 'r').steps.map(({ sentence }) => sentence)).toEqual(['rehearsed'])
  expect(saidIn(agents, nowMs, 'x').steps).toEqual([])
})

import { expect, it } from 'vitest'
import { readinessOf } from './readiness.ts'

const state = { leads: 'shop-0', moves: 0, failures: 0, heard: 1, sentence: 'writes go on: shop-0' }
const router = (ledAgoMs: number, unheardMs: number) => ({
  state,
  ledAgoMs: () => ledAgoMs,
  unheardForMs: () => unheardMs,
})

it.each([
  [0, 0, 200, 'writes go on: shop-0\n'],
  [4_999, 5_999, 200, 'writes go on: shop-0\n'],
  [5_000, 0, 503, 'HAProxy is not led for 5000 ms\n'],
  [Infinity, Infinity, 503, 'HAProxy is not led yet\n'],
  [0, Infinity, 503, 'no manager and no agent was heard yet\n'],
  [0, 6_000, 503, 'neither a manager nor an agent is heard for 6000 ms: this router is cut off\n'],
])('A router that led HAProxy %i ms ago, and hears nobody for %i ms, answers %i', (ledMs, unheardMs, status, body) => {
  expect(readinessOf(router(ledMs, unheardMs))).toEqual({ status, body })
})

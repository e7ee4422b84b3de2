import { time, type Part } from './sentence.ts'

const secondMs = 1_000

/** Moments that people give and read are whole seconds of UTC. */
export const secondBefore = (ms: number): number => Math.floor(ms / secondMs) * secondMs
export const secondBehind = (ms: number): number => Math.ceil(ms / secondMs) * secondMs

/** `2026-11-26T03:12:09Z` */
export function moment(ms: number): Part {
  return time(`${new Date(secondBefore(ms)).toISOString().slice(0, 19)}Z`)
}

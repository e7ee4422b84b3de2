import { duration, say, type Said } from '#common/sentence/sentence.ts'

/** The amount that is done, and the time for that. */
export interface Course {
  readonly done: number
  readonly all: number
  readonly ms: number
}

/** The first seconds tell nothing. */
const tellsFromMs = 3_000
const fewSecondsMs = 10_000

/** `, 82 MB/s; about 3 min are left`, of bytes; '' as long as nothing is known. */
export function rateAndRest({ done, all, ms }: Course): Said {
  const rest = restOf({ done, all, ms })
  return rest === '' ? '' : say`, ${rounded(done / ms / 1_000)} MB/s; ${rest}`
}

/** `about 3 min are left`, at the rate so far; '' as long as nothing is known. */
export function restOf({ done, all, ms }: Course): Said {
  if (done === 0 || ms < tellsFromMs) return ''
  const leftMs = (Math.max(0, all - done) * ms) / done
  return leftMs < fewSecondsMs ? say`a few seconds are left` : say`about ${duration(leftMs)} are left`
}

function rounded(rate: number): number {
  return rate < 10 ? Math.round(rate * 10) / 10 : Math.round(rate)
}

const mebibyte = 1_048_576
/** https://docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html: 10,000 parts, 5 GiB each. */
const mostParts = 10_000
const smallestPart = 8 * mebibyte
const largestPart = 5_120 * mebibyte
/** Bytes of all buffers, unless one part alone is larger. */
const bufferBytes = 16 * mebibyte

/** How large the parts of an upload are: of one size first, then doubled after each `step` parts. */
export interface PartPlan {
  readonly firstBytes: number
  readonly steady: number
  readonly step: number
}

/**
 * Parts that never run out. Where nothing is known: 8 MiB for 8 GiB, then doubled every 1,000 parts. A guess may be
 * wrong by far: after 9,000 parts of the size that it asks for they double every 100.
 */
export function partPlan(expectedBytes: number | undefined): PartPlan {
  if (expectedBytes === undefined) return { firstBytes: smallestPart, steady: 1_000, step: 1_000 }
  const wanted = Math.ceil(expectedBytes / 9_000 / mebibyte) * mebibyte
  return { firstBytes: Math.min(Math.max(wanted, smallestPart), largestPart), steady: 9_000, step: 100 }
}

/** The size of part `number`, the first of which is 1. */
export function partBytes({ firstBytes, steady, step }: PartPlan, number: number): number {
  const doublings = number <= steady ? 0 : Math.ceil((number - steady) / step)
  return Math.min(firstBytes * 2 ** doublings, largestPart)
}

export function hasRoomFor(number: number): boolean {
  return number <= mostParts
}

/** How many parts of that size are held in memory: one that is filled, the others on their way. */
export function partsHeld(bytes: number): number {
  return Math.max(1, Math.floor(bufferBytes / bytes))
}

/** Stored with the object: who reads the object must know where its parts end to compute its checksum. */
export function planText({ firstBytes, steady, step }: PartPlan): string {
  return `${firstBytes}-${steady}-${step}`
}

/** Undefined for what `planText` did not write. */
export function readPlan(text: string | undefined): PartPlan | undefined {
  const numbers = /^([1-9]\d{0,14})-([1-9]\d{0,4})-([1-9]\d{0,4})$/
    .exec(text ?? '')
    ?.slice(1)
    .map(Number)
  if (numbers === undefined) return undefined
  const [firstBytes = 0, steady = 0, step = 0] = numbers
  return { firstBytes, steady, step }
}

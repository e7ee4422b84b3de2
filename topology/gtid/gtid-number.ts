/**
 * A transaction's number, up to MySQL's limit of 2⁶³ − 2. Up to 2⁵³ − 1 it is a number, above that a bigint, and never
 * the other way round: so two that are the same are `===`, and `<` compares any two exactly. Nearly all sets have
 * numbers alone, which cost a tenth.
 */
export type GtidNumber = number | bigint

/** 2⁶³ − 1, where MySQL's intervals end: its last transaction has the number before. */
export const endOfGtidNumbers = 2n ** 63n - 1n

/** The one that stands for this value. */
export function gtidNumber(value: bigint): GtidNumber {
  return value <= Number.MAX_SAFE_INTEGER ? Number(value) : value
}

export function nextOf(number: GtidNumber): GtidNumber {
  return typeof number === 'number' && number < Number.MAX_SAFE_INTEGER ? number + 1 : gtidNumber(BigInt(number) + 1n)
}

export function previousOf(number: GtidNumber): GtidNumber {
  return typeof number === 'number' ? number - 1 : gtidNumber(number - 1n)
}

/** How many numbers there are from the one to the other; exact below 2⁵³. */
export function distance(from: GtidNumber, to: GtidNumber): number {
  return typeof from === 'number' && typeof to === 'number' ? to - from + 1 : Number(BigInt(to) - BigInt(from) + 1n)
}

import { createHash, type Hash } from 'node:crypto'
import { partBytes, type PartPlan } from './part-plan.ts'

/** `base64` of the SHA-256 of the parts' SHA-256, and how many they are: S3's checksum of an object of parts. */
export function compositeSum(parts: readonly Uint8Array[]): string {
  const whole = createHash('sha256')
  for (const part of parts) whole.update(part)
  return `${whole.digest('base64')}-${parts.length}`
}

/** Computes the checksum of an object while it is read: of parts where it has a plan, else of the whole. */
export class ReadingSum {
  readonly #plan: PartPlan | undefined
  readonly #parts: Buffer[] = []
  #hash: Hash = createHash('sha256')
  #left: number

  constructor(plan: PartPlan | undefined) {
    this.#plan = plan
    this.#left = this.#bytesOf(1)
  }

  update(chunk: Uint8Array): void {
    for (let at = 0; at < chunk.length;) {
      // Not at the end of a part: the last part ends wherever the object does.
      if (this.#left === 0) this.#endPart()
      const piece = chunk.subarray(at, at + Math.min(this.#left, chunk.length - at))
      this.#hash.update(piece)
      this.#left -= piece.length
      at += piece.length
    }
  }

  end(): string {
    if (this.#plan === undefined) return this.#hash.digest('base64')
    this.#endPart()
    return compositeSum(this.#parts)
  }

  #endPart(): void {
    this.#parts.push(this.#hash.digest())
    this.#hash = createHash('sha256')
    this.#left = this.#bytesOf(this.#parts.length + 1)
  }

  #bytesOf(number: number): number {
    return this.#plan === undefined ? Infinity : partBytes(this.#plan, number)
  }
}

import type { Readable } from 'node:stream'

/** What a command writes to standard output, up to a limit. */
export interface CollectedOutput {
  bytes(): Buffer
}

/** Collects a stream; `tooMuch` is called once when more than `limitBytes` have come, and the rest is thrown away. */
export function collectOutput(stream: Readable | null, limitBytes: number, tooMuch: () => void): CollectedOutput {
  let [chunks, size]: [Buffer[], number] = [[], 0]
  stream?.on('data', (chunk: Buffer) => {
    if (size > limitBytes) return
    size += chunk.length
    if (size <= limitBytes) return void chunks.push(chunk)
    chunks = []
    tooMuch()
  })
  return { bytes: () => Buffer.concat(chunks) }
}

/** The last `keepBytes` of a stream as text, with a note of what is left out before them. */
export function collectTail(stream: Readable | null, keepBytes: number): { text(): string } {
  let [kept, left]: [Buffer, number] = [Buffer.alloc(0), 0]
  stream?.on('data', (chunk: Buffer) => {
    const all = Buffer.concat([kept, chunk])
    const cut = Math.max(0, all.length - keepBytes)
    left += cut
    // A copy: a view would keep every chunk alive.
    kept = cut === 0 ? all : Buffer.from(all.subarray(cut))
  })
  return { text: () => (left === 0 ? '' : `(${left} bytes left out) `) + kept.toString('utf8') }
}

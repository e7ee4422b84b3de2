import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import type { ObjectStore } from './object-store.ts'

/** A store in memory, which keeps what was written in the order of writing, and fails where a test says so. */
export class MemoryStore implements ObjectStore {
  readonly address = 'memory'
  readonly objects = new Map<string, Buffer>()
  readonly locked = new Set<string>()
  /** Times of objects; 0 where a test says none. */
  readonly modifiedMs = new Map<string, number>()
  /** Throws in place of a write that a test does not let through. */
  beforeWrite: (key: string) => void = () => undefined

  async put(key: string, content: AsyncIterable<Uint8Array>): Promise<number> {
    const chunks: Uint8Array[] = []
    for await (const chunk of content) chunks.push(Buffer.from(chunk))
    this.beforeWrite(key)
    const whole = Buffer.concat(chunks)
    this.objects.set(key, whole)
    return whole.length
  }

  async putIfAbsent(key: string, content: Uint8Array): Promise<boolean> {
    this.beforeWrite(key)
    if (this.objects.has(key)) return false
    this.objects.set(key, Buffer.from(content))
    return true
  }

  async *get(key: string): AsyncGenerator<Uint8Array> {
    const content = this.objects.get(key)
    if (content === undefined) throw new RegentError('REGENT_NOT_FOUND', say`${key} is not in the store`)
    yield content
  }

  async *list(prefix: string) {
    for (const [key, { length }] of [...this.objects].toSorted(([a], [b]) => (a < b ? -1 : 1)))
      if (key.startsWith(prefix)) yield { key, bytes: length, modifiedMs: this.modifiedMs.get(key) ?? 0 }
  }

  async delete(keys: readonly string[]): Promise<readonly string[]> {
    for (const key of keys) if (!this.locked.has(key)) this.objects.delete(key)
    return keys.filter((key) => this.objects.has(key))
  }

  async dropUnfinished(): Promise<number> {
    return 0
  }

  close(): void {
    // Nothing is held open.
  }
}

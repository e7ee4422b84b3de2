import { described } from '#common/errors/errors.ts'
import type { PlatformInstance } from '#common/ports/platform.ts'
import { say, type Sentence } from '#common/sentence/sentence.ts'
import { NewestFirst } from '#manager/loop/newest-first.ts'

export interface ReadParts {
  readonly instances: () => Promise<readonly PlatformInstance[]>
  readonly set: (instances: readonly PlatformInstance[]) => void
  readonly warn: (sentence: Sentence) => void
}

/** A change is often told twice: what an earlier read gives later is older than what is known. */
export function readsInstances({ instances, set, warn }: ReadParts): () => void {
  const reads = new NewestFirst()
  return () => {
    const isNewest = reads.begin()
    instances().then(
      (read) => isNewest() && set(read),
      (error: unknown) => warn(say`the instances cannot be read: ${described(error)}`),
    )
  }
}

import { say, type Sentence } from '#common/sentence/sentence.ts'
import { isDeepStrictEqual } from 'node:util'
import type { ClusterSpec } from '#failover/protocol/spec.ts'
import type { World } from '#common/ports/ports.ts'
import { Watches } from '#common/watch/watches.ts'
import { readSpec } from './spec-file.ts'
import type { StateLayout } from './state-layout.ts'

const lookMs = 1_000

interface SpecReader {
  readonly world: Pick<World, 'clock' | 'timers'>
  /** As it was read last. */
  readonly known: ClusterSpec
  readonly changed: (spec: ClusterSpec) => void
  readonly failed: (sentence: Sentence) => void
}

/** Tells of a spec that was changed while its manager runs (`regent local up --config`). */
export function watchSpec(layout: StateLayout, name: string, { world, known, changed, failed }: SpecReader): Watches {
  let last = known
  const look = async (): Promise<void> => {
    const spec = await readSpec(layout, name)
    if (isDeepStrictEqual(spec, last)) return
    last = spec
    changed(spec)
  }
  const failure = { code: 'SpecUnreadable', sentence: say`the spec cannot be read, and stays as it was` }
  const watches = new Watches(world, (_, sentence) => failed(sentence))
  watches.every(lookMs, [{ name: 'the spec of the cluster', failure, look }])
  return watches
}

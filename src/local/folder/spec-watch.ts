import { isDeepStrictEqual } from 'node:util'
import type { ClusterSpec } from '#failover/protocol/spec.ts'
import type { Timer, Timers } from '#common/ports/ports.ts'
import { readSpec } from './spec-file.ts'
import type { StateLayout } from './state-layout.ts'

const lookMs = 1_000

interface SpecReader {
  readonly timers: Timers
  /** As it was read last. */
  readonly known: ClusterSpec
  readonly changed: (spec: ClusterSpec) => void
  readonly failed: (error: unknown) => void
}

/** Tells of a spec that was changed while its manager runs (`regent local up --config`). */
export function watchSpec(layout: StateLayout, name: string, { timers, known, changed, failed }: SpecReader): Timer {
  let last = known
  let isReading = false
  const look = async (): Promise<void> => {
    if (isReading) return
    isReading = true
    try {
      const spec = await readSpec(layout, name)
      if (isDeepStrictEqual(spec, last)) return
      last = spec
      changed(spec)
    } catch (error) {
      failed(error)
    } finally {
      isReading = false
    }
  }
  return timers.every(lookMs, () => void look())
}

import { joined, say, type Sentence } from '#common/sentence/sentence.ts'
import type { BackupName } from '../objects/backup-name.ts'
import { chainFrom, type Chain, type Hole } from '../archive/chain.ts'
import { historyOf, type Archive } from '../archive/history.ts'
import { moment, secondBefore, secondBehind } from '#common/sentence/moment.ts'

/** A span of time, each second of which can be restored. */
export interface Span {
  readonly fromMs: number
  readonly toMs: number
}

/** The times that can be restored. */
export interface Window {
  /** The spans in their order, with gaps between them. */
  readonly spans: readonly Span[]
  /** Backups that reach only themselves: no second of a clock is known to be in them. The newest is first. */
  readonly alone: readonly BackupName[]
  /** The chain that reaches furthest; null without a backup. */
  readonly newest: Chain | null
  /** The places where chains break, each once. */
  readonly holes: readonly Hole[]
}

export function windowOf(archive: Archive): Window {
  const chains = chainsOf(archive)
  const holes = new Map(chains.flatMap(({ hole }) => (hole === null ? [] : [[String(hole.why), hole] as const])))
  const alone = chains.flatMap((chain) => (spanOf(chain) === null ? [chain.backup.name] : []))
  return { spans: spansOf(chains), alone, newest: furthest(chains), holes: [...holes.values()] }
}

/** The chain of each backup, the newest first. */
export function chainsOf({ manifests, ...archive }: Archive): readonly Chain[] {
  const history = historyOf(archive)
  return manifests
    .toSorted((one, other) => other.endedAtMs - one.endedAtMs || (one.name < other.name ? 1 : -1))
    .map((manifest) => chainFrom(manifest, history))
}

/**
 * The chain that reaches furthest; of several, the chain with the least to replay. Chains are given with the newest
 * first.
 */
export function furthest(chains: readonly Chain[]): Chain | null {
  return chains.reduce<Chain | null>(
    (best, chain) => (best === null || reachesFurther(chain, best) ? chain : best),
    null,
  )
}

/**
 * Transactions tell what is further. Times tell that only of two histories that a failover parted: a clock may have
 * been set back.
 */
function reachesFurther(one: Chain, other: Chain): boolean {
  const [hasAll, lacksNone] = [one.gtids.contains(other.gtids), other.gtids.contains(one.gtids)]
  return hasAll === lacksNone ? !hasAll && one.reachesMs > other.reachesMs : hasAll
}

/** Null where not a whole second is known to be between the end of the backup and the last commit behind it. */
export function spanOf({ backup, steps, reachesMs }: Chain): Span | null {
  const [fromMs, toMs] = [secondBehind(backup.endedAtMs), secondBefore(reachesMs)]
  return steps.length > 0 && fromMs <= toMs ? { fromMs, toMs } : null
}

function spansOf(chains: readonly Chain[]): readonly Span[] {
  const spans: Span[] = []
  const all = chains.flatMap((chain) => spanOf(chain) ?? [])
  for (const span of all.sort((one, other) => one.fromMs - other.fromMs)) {
    const last = spans.at(-1)
    if (last === undefined || span.fromMs > last.toMs) spans.push(span)
    else spans[spans.length - 1] = { fromMs: last.fromMs, toMs: Math.max(last.toMs, span.toMs) }
  }
  return spans
}

/** `2026-11-26T03:12:09Z to 2026-11-27T…`, of each span; and backups that can be had alone. */
export function describePossible({ spans, alone }: Pick<Window, 'spans' | 'alone'>): Sentence {
  const seconds = spans.map(({ fromMs, toMs }) => say`${moment(fromMs)} to ${moment(toMs)}`)
  const backups = alone.slice(0, 3).map((name) => say`backup ${name} as it is`)
  const all = joined([...seconds, ...backups], '; ')
  return all === '' ? say`nothing, since no backup is whole` : all
}

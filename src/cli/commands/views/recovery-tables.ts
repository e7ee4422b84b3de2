import type { Recovery } from '#failover/protocol/notes.ts'
import { instanceOf } from '#topology/snapshot/member.ts'
import { renderTable } from '#cli/terminal/table.ts'

/** A line per recovery, in the order given. */
export function renderRecoveries(recoveries: readonly Recovery[]): readonly string[] {
  if (recoveries.length === 0) return ['nothing was recovered yet']
  const rows = recoveries.map((recovery) => [
    recovery.id,
    timeOf(recovery),
    recovery.kind,
    recovery.outcome,
    wayOf(recovery),
    durationOf(recovery),
    lostBy(recovery),
    recovery.analysis,
  ])
  return renderTable(['id', 'started (UTC)', 'kind', 'outcome', 'from → to', 'took', 'lost', 'because'], rows)
}

/** A recovery, step by step: milliseconds since detection, and since the step before. */
export function renderTimeline(recovery: Recovery): readonly string[] {
  const epochs =
    recovery.toEpoch === null ? `epoch ${recovery.fromEpoch}` : `epoch ${recovery.fromEpoch} → ${recovery.toEpoch}`
  const steps = recovery.timeline.map((entry, at) => {
    const before = recovery.timeline[at - 1]?.atMs ?? 0
    return `${entry.atMs.toFixed(1).padStart(10)} ms  ${`+${(entry.atMs - before).toFixed(1)}`.padStart(9)}  ${entry.what}`
  })
  return [
    `${recovery.kind} ${recovery.id}: ${recovery.outcome}, ${wayOf(recovery)}, ${epochs}`,
    `started ${timeOf(recovery)} UTC because of ${recovery.analysis}`,
    recovery.sentence,
    ...(recovery.loss === undefined ? [] : [`lost: ${lostBy(recovery)}`]),
    '',
    ...steps,
    ...renderHooks(recovery),
  ]
}

function renderHooks({ hooks }: Recovery): readonly string[] {
  if (hooks === undefined || hooks.runs.length === 0) return []
  const rows = hooks.runs.map(({ moment, hook, state, ms, said }) => [
    moment,
    hook,
    state,
    ms === null ? '' : `${ms.toFixed(1)} ms`,
    said,
  ])
  return ['', ...renderTable(['hooks', 'what', 'state', 'took', 'how it ended'], rows)]
}

/** `demo-0 → demo-1`; one name where the primary stayed the same, or there was none before. */
function wayOf({ from, to }: Recovery): string {
  const names = [from, to].filter((member) => member !== null).map(instanceOf)
  return [...new Set(names)].join(' → ') || 'nobody'
}

/** Transactions, and for how long there may have been more; '' where no other one came to lead. */
function lostBy({ loss }: Recovery): string {
  if (loss === undefined) return ''
  const known = loss.transactions === null ? 'unknown' : String(loss.transactions)
  const { unheardSeconds } = loss
  return unheardSeconds === null || unheardSeconds === 0 ? known : `${known}, and ${unheardSeconds} s unheard`
}

function timeOf(recovery: Recovery): string {
  return new Date(recovery.startedWallMs)
    .toISOString()
    .replace('T', ' ')
    .replace(/\.\d+Z$/, '')
}

function durationOf(recovery: Recovery): string {
  const last = recovery.timeline.at(-1)
  return last === undefined ? '' : `${Math.round(last.atMs)} ms`
}

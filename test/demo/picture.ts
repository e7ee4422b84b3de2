import { paintFor } from '#cli/terminal/paint.ts'
import { renderTopology, stateOf } from '#cli/commands/views/topology-tree.ts'
import type { Recovery } from '#failover/protocol/notes.ts'
import type { ClusterView, InstanceRow, TopologyView, TreeNode } from '#api-contract/views.ts'
import type { Episode } from '../support/episode.ts'

/** The tree as `regent topology` shows it, with what the client notices below. */
export function picture(
  view: ClusterView,
  writes: { readonly count: number; readonly sinceMs: number },
  colour: boolean,
): readonly string[] {
  const paint = paintFor(colour)
  const waiting =
    writes.sinceMs > 100 ? paint.yellow(`waiting for ${(writes.sinceMs / 1000).toFixed(1)} s`) : 'every 10 ms'
  return [
    '',
    ...renderTopology(asTopology(view), paint),
    '',
    `client: ${paint.bold(thousands(writes.count))} writes acknowledged, ${waiting}`,
  ].map((line) => `  ${line}`)
}

/** The same in one line, for where there is no terminal. */
export function summary(view: ClusterView): string {
  const down = view.instances
    .filter((row) => !row.reachable || row.process !== 'running')
    .map((row) => `, ${row.name} ${stateOf(row).words}`)
  const counts =
    view.group === undefined
      ? `${view.syncSet.length} of ${view.instances.length - 1} replicas count`
      : `${view.group.online} of ${view.instances.length} members online`
  return `${view.primary ?? 'nobody'} ${view.writable === true ? 'takes writes' : 'takes no writes'}, ${counts}${down.join('')}`
}

export type Told = Pick<Episode, 'from' | 'to' | 'outageMs' | 'recovery' | 'wholeMs'>

/** How one episode went: who handed over to whom, the outage, and each step since it was noticed. */
export function report(episode: Told, colour: boolean, width: number): readonly string[] {
  const paint = paintFor(colour)
  const words = episode.recovery.kind === 'switchover' ? 'the client paused' : 'the client waited'
  return [
    `    ${words} ${paint.bold(paint.green(`${Math.round(episode.outageMs)} ms`))}    ${episode.from} → ${episode.to}, epoch ${episode.recovery.fromEpoch} → ${episode.recovery.toEpoch ?? '?'}, whole again after ${(episode.wholeMs / 1000).toFixed(1)} s`,
    ...timeline(episode.recovery, width).map((line) => paint.dim(`    ${line}`)),
    '',
  ]
}

export function thousands(count: number): string {
  return count.toLocaleString('en-US')
}

function timeline({ timeline: steps }: Recovery, width: number): readonly string[] {
  return steps.map(({ atMs, what }) => {
    // Who waited for whom inside of a step is for `regent recoveries`.
    const [words = ''] = what.replace(/ \(.*\)$/, '').split(';')
    const line = `${atMs.toFixed(1).padStart(8)} ms  ${words}`
    return line.length > width - 4 ? `${line.slice(0, width - 5)}…` : line
  })
}

/** Events carry no tree: the record's primary is the root of all that follow it. */
function asTopology(view: ClusterView): TopologyView {
  const follows = ({ name, process, reachable }: InstanceRow) =>
    name !== view.primary && reachable && process === 'running'
  const replicas: readonly TreeNode[] = view.instances.filter(follows).map(({ name }) => ({ name, replicas: [] }))
  return { ...view, tree: view.primary === null ? [] : [{ name: view.primary, replicas }] }
}

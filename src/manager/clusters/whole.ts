import type { ClusterView, InstanceRow } from '#api-contract/views.ts'

type Shown = Omit<ClusterView, 'whole' | 'problems'>

/** The instance leads, its acknowledgement counts, or its group counts on it. */
export function takesPart(view: Pick<Shown, 'primary' | 'writable'>, row: InstanceRow): boolean {
  const isIn = row.group === undefined || row.group.state === 'ONLINE'
  const counts = row.inSyncSet || (row.name === view.primary && view.writable === true)
  return row.reachable && row.process === 'running' && isIn && counts
}

/** Nothing is left to do: everybody who is wanted takes part, and is up with the others. */
export function isWhole(view: Shown, wanted: number): boolean {
  const { writable, blocked, instances, acks, acksWanted, primary } = view
  if (writable !== true || blocked || instances.length !== wanted || acks !== acksWanted) return false
  return instances.every(
    (row) => takesPart(view, row) && !row.behind && !row.fenced && (row.name === primary || isHeardBack(view, row)),
  )
}

/** A replica that has just joined the sync set connects once more, to acknowledge from then on. */
function isHeardBack({ acks }: Shown, { acknowledging, offline }: InstanceRow): boolean {
  return offline !== true && (acks === 0 || acknowledging)
}

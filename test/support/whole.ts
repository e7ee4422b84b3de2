import type { ClusterView } from '#api-contract/views.ts'

/** Every instance is up and heard by its manager, every replica counts and acknowledges, the primary takes writes. */
export function isWhole(view: ClusterView, instances: number): boolean {
  return view.instances.length === instances && whyNotWhole(view) === undefined
}

/** What is still missing, in words; undefined when nothing is. */
export function whyNotWhole(view: ClusterView): string | undefined {
  if (!view.writable) return 'no instance takes writes'
  const ailing = view.instances.find(
    (row) => !row.reachable || row.process !== 'running' || row.offline === true || row.role === 'none',
  )
  if (ailing !== undefined) return `${ailing.name} is not there yet`
  const astray = view.instances.find((row) =>
    row.problems.some(({ sentence }) => /does not replicate|^connecting to/.test(sentence)),
  )
  if (astray !== undefined) return `${astray.name} does not follow`
  const apart = whoIsApart(view)
  if (apart !== undefined) return apart
  const wanted = view.instances.length - 1
  if (view.syncSet.length < wanted) return `the sync set has ${view.syncSet.length} of ${wanted}`
  // A replica that has just joined the sync set connects once more, to acknowledge from then on.
  const silent = view.instances.find(
    ({ name, acknowledging }) => view.acks > 0 && view.syncSet.includes(name) && !acknowledging,
  )
  if (silent !== undefined) return `${silent.name} does not acknowledge yet`
  return view.acks < view.acksWanted ? `${view.acks} of ${view.acksWanted} acknowledgements` : undefined
}

/** In mode `group`: who is no member, or none that counts. */
function whoIsApart({ instances }: ClusterView): string | undefined {
  const apart = instances.find(({ group }) => group !== undefined && group.state !== 'ONLINE')
  return apart && `${apart.name} is ${apart.group?.state?.toLowerCase() ?? 'unknown'} in the group`
}

/** Where a sentence is read: commands in it must work there. */
export type Place =
  { readonly kind: 'local' } | { readonly kind: 'kubernetes'; readonly namespace: string; readonly cluster: string }

export const localPlace: Place = { kind: 'local' }
/** For texts that are about any cluster. */
export const anyOnKubernetes: Place = { kind: 'kubernetes', namespace: '<namespace>', cluster: '<cluster>' }

/** Verbs about a whole cluster, which a sentence does not name; and those whose first argument is an instance. */
export const clusterVerbs = ['failover', 'switchover', 'pause', 'resume', 'explain', 'topology', 'recoveries'] as const
export const instanceVerbs = ['fence', 'unfence', 'replace', 'reseed', 'downtime'] as const

/** A command to type. The arguments of `scale` are the cluster and how many instances. */
export interface Command {
  readonly verb: (typeof clusterVerbs)[number] | (typeof instanceVerbs)[number] | 'scale'
  readonly args: readonly string[]
}

/** A command as it is typed in that place: no other code knows both. */
export function typedIn(place: Place, { verb, args }: Command): string {
  const [first = '', ...rest] = args
  if (place.kind === 'local') return ['regent', ...(verb === 'scale' ? ['local'] : []), verb, ...args].join(' ')
  const { namespace, cluster } = place
  if (verb === 'scale') return `kubectl -n ${namespace} scale mysql/${first} --replicas ${rest.join(' ')}`
  const isOfInstance = (instanceVerbs as readonly string[]).includes(verb)
  const [whom, options] = isOfInstance ? [first, rest] : [cluster, args]
  return ['kubectl regent', verb, whom, '-n', namespace, ...options].join(' ')
}

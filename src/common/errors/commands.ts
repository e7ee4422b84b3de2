/**
 * Where a sentence is read: commands in it must work there. Sentences are written with the commands of one machine
 * (`regent failover --accept-loss`, `regent local scale shop 4`); `inPlace` turns them, at the edge, into what works on
 * Kubernetes. No other code knows both.
 */
export type Place =
  { readonly kind: 'local' } | { readonly kind: 'kubernetes'; readonly namespace: string; readonly cluster: string }

export const localPlace: Place = { kind: 'local' }
/** For texts that are about any cluster. */
export const anyOnKubernetes: Place = { kind: 'kubernetes', namespace: '<namespace>', cluster: '<cluster>' }

/**
 * Verbs whose first argument is a cluster, which a sentence leaves out, and those whose first argument is an instance,
 * which it names.
 */
export const clusterVerbs = ['failover', 'switchover', 'pause', 'resume', 'explain', 'topology', 'recoveries'] as const
export const instanceVerbs = ['fence', 'unfence', 'replace', 'downtime'] as const

const scaling = /\bregent local scale (\S+) (\d+)/g
// What is on Kubernetes already stays: an error is told by several, one after the other.
const ofCluster = new RegExp(`(?<!kubectl )\\bregent (${clusterVerbs.join('|')})\\b`, 'g')
const ofInstance = new RegExp(`(?<!kubectl )\\bregent (${instanceVerbs.join('|')}) (\\S*[\\w>])`, 'g')

/** The same sentence with the commands of the place where it is read. */
export function inPlace(sentence: string, place: Place | undefined): string {
  if (place === undefined || place.kind === 'local' || !sentence.includes('regent ')) return sentence
  const { namespace, cluster } = place
  return sentence
    .replace(
      scaling,
      (_, name: string, count: string) => `kubectl -n ${namespace} scale mysql/${name} --replicas ${count}`,
    )
    .replace(ofCluster, (_, verb: string) => `kubectl regent ${verb} ${cluster} -n ${namespace}`)
    .replace(ofInstance, (_, verb: string, instance: string) => `kubectl regent ${verb} ${instance} -n ${namespace}`)
}

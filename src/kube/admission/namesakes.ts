import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import type { ObjectKey } from '#controller-runtime/objects/objects.ts'
import { namesOf } from '../names/names.ts'
import type { MySQLCluster } from '../spec/mysql-cluster.ts'

type Others = (name: string) => MySQLCluster | undefined
type ClusterOf = (key: ObjectKey) => MySQLCluster | undefined

/**
 * Why a cluster cannot be beside those that are there: objects of both would have one name. Every cluster has a budget
 * with its bare name, which is the name of another one's router. With a router a cluster has a Service of its bare
 * name, too. Judged where a cluster, or its router, is new.
 */
export function* refusedNamesakes(
  next: MySQLCluster,
  before: MySQLCluster | undefined,
  clusterOf: ClusterOf,
): Generator<RegentError> {
  if (before !== undefined && (hasRouter(before) || !hasRouter(next))) return
  const others = (name: string): MySQLCluster | undefined =>
    name === '' ? undefined : clusterOf({ namespace: next.metadata.namespace ?? '', name })
  for (const kind of ['router', 'primary', 'replicas', 'instances'] as const) {
    yield* beside(kind, next, others)
    yield* behind(kind, next, others)
  }
}

/** The other cluster has the longer name. */
function* beside(kind: Kind, next: MySQLCluster, others: Others): Generator<RegentError> {
  const longer = others(namesOf(next.metadata.name)[kind])
  if (longer !== undefined && clash(kind, next, longer)) yield refusal(whyShorter(kind, next, longer.metadata.name))
}

/** The other cluster has the shorter name. */
function* behind(kind: Kind, next: MySQLCluster, others: Others): Generator<RegentError> {
  const { name } = next.metadata
  const ending = `-${kind}`
  const shorter = name.endsWith(ending) ? others(name.slice(0, -ending.length)) : undefined
  if (shorter === undefined || !clash(kind, shorter, next)) return
  yield refusal(
    say`metadata.name is "${name}": objects of cluster ${shorter.metadata.name} have that name already; give another one`,
  )
}

function whyShorter(kind: Kind, { metadata: { name } }: MySQLCluster, longer: string) {
  return kind === 'router'
    ? say`spec.router would make objects with the name of cluster ${longer}, which is there already`
    : say`metadata.name is "${name}": cluster ${longer} has a name that an object of this cluster would get`
}

type Kind = 'router' | 'primary' | 'replicas' | 'instances'

/** Both have a budget of the name of the router, or both have a Service of the other name. */
function clash(kind: Kind, shorter: MySQLCluster, longer: MySQLCluster): boolean {
  return hasRouter(kind === 'router' ? shorter : longer)
}

function hasRouter({ spec: { router } }: MySQLCluster): boolean {
  return router !== undefined && router !== null
}

function refusal(sentence: ReturnType<typeof say>): RegentError {
  return new RegentError('REGENT_REFUSED', sentence)
}

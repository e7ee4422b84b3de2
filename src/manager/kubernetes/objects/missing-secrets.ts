import type { V1Container, V1PodSpec } from '@kubernetes/client-node'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import type { KubeClient } from '#controller-runtime/client/kube-client.ts'
import { keyOf } from '#controller-runtime/objects/objects.ts'
import type { StatefulSet } from '#kube/pods/stateful-set.ts'
import { secrets } from '#kube/secrets/secrets.ts'

/**
 * Throws `REGENT_REFUSED` where pods of `next` would need a Secret that is not there, and pods of `before` need not.
 * Such a pod waits for the Secret without an end, and a rolling update would have taken an instance away for it.
 */
export async function refuseMissingSecrets(
  client: Pick<KubeClient, 'get'>,
  { next, before }: { readonly next: StatefulSet; readonly before: StatefulSet | undefined },
  signal: AbortSignal,
): Promise<void> {
  const known = secretsOfPods(before?.spec.template.spec)
  const added = [...secretsOfPods(next.spec.template.spec)].filter((name) => !known.has(name))
  const found = await Promise.all(added.map((name) => client.get(secrets, { ...keyOf(next), name }, { signal })))
  const missing = added.filter((_, at) => found[at] === undefined)
  if (missing.length === 0) return
  const [is, it] = missing.length === 1 ? ['is', 'it'] : ['are', 'them']
  const named = missing.map((name) => `${keyOf(next).namespace}/${name}`).join(', ')
  const why = say`Secret ${named} ${is} not there, and the pods that the spec asks for cannot start without ${it}`
  throw new RegentError(
    'REGENT_REFUSED',
    say`${why}: make ${it}, or take ${it} out of the spec; until then no pod is changed`,
  )
}

/** The Secrets without which a pod does not start. */
export function secretsOfPods(spec: V1PodSpec | undefined): ReadonlySet<string> {
  if (spec === undefined) return new Set()
  const { volumes = [], containers, initContainers = [] } = spec
  const mounted = volumes.flatMap(({ secret, projected }) => [
    needed(secret?.secretName, secret?.optional),
    ...(projected?.sources ?? []).map((source) => needed(source.secret?.name, source.secret?.optional)),
  ])
  return new Set(
    [...mounted, ...[...containers, ...initContainers].flatMap(ofEnvironment)].filter((name) => name !== ''),
  )
}

/** A field with nothing behind is null. */
function ofEnvironment({ env, envFrom }: V1Container): readonly string[] {
  return [
    ...(env ?? []).map(({ valueFrom }) => needed(valueFrom?.secretKeyRef?.name, valueFrom?.secretKeyRef?.optional)),
    ...(envFrom ?? []).map(({ secretRef }) => needed(secretRef?.name, secretRef?.optional)),
  ]
}

function needed(name: string | undefined, isOptional: boolean | undefined): string {
  return isOptional === true ? '' : (name ?? '')
}

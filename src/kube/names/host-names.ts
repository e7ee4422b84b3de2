import { namesOf } from './names.ts'

/**
 * Whom a name of DNS leads to, among the instances of one cluster. Pods of a Kubernetes cluster reach instances by
 * `<instance>.<cluster>-instances`, and by the Services of the primary and of the router. What may follow is
 * `.<namespace>`, `.svc` and the domain of the cluster.
 *
 * @returns undefined for a name of somebody else
 */
export function namedByHost(
  { namespace, name }: { readonly namespace: string; readonly name: string },
  host: string,
): { readonly instance: string } | 'primary' | undefined {
  const [first = '', ...rest] = host.toLowerCase().replace(/\.$/, '').split('.')
  const { instances, primary, routerService } = namesOf(name)
  if (rest[0] === instances) return isWithin(namespace, rest.slice(1)) ? { instance: first } : undefined
  if (!isWithin(namespace, rest)) return undefined
  // The bare name of a cluster is said for the cluster rather than for its router.
  return first === primary || (first === routerService && rest.length > 1) ? 'primary' : undefined
}

function isWithin(namespace: string, [first = namespace, second = 'svc']: readonly string[]): boolean {
  return first === namespace && second === 'svc'
}

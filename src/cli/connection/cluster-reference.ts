import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'

/**
 * A cluster as people name it: `shop`, or on Kubernetes `shops/shop`. The API's paths call the latter `shops.shop`;
 * neither part can hold a dot.
 */
export function clusterId(reference: string, namespace?: string): string {
  if (reference.includes('/') || namespace === undefined) return reference.replace('/', '.')
  return `${namespace}.${reference}`
}

/** As people name it. */
export function clusterName(id: string): string {
  return id.replace('.', '/')
}

/** Throws `REGENT_BAD_REQUEST` where the cluster is named with another namespace than the option. */
export function refuseOtherNamespace(reference: string, namespace: string): void {
  const [before, name] = reference.split('/')
  if (name !== undefined && before !== namespace)
    throw new RegentError(
      'REGENT_BAD_REQUEST',
      say`${reference} is not in namespace ${namespace}, which --namespace says: leave one of the two out`,
    )
}

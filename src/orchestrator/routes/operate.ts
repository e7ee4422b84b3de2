import { completed, type OperationDetails, type OperationName } from '#api-contract/operations.ts'
import type { OperationResult } from '#api-contract/operation-result.ts'
import type { Cluster } from '../fleet/fleet.ts'
import type { Call } from './route.ts'

/** Asks for an operation of the table, as the API does. */
export async function operate<N extends OperationName>(
  call: Call,
  cluster: Cluster,
  name: N,
  details: OperationDetails<N>,
): Promise<OperationResult> {
  return call.clusters.operate(cluster.name, name, completed(name, details))
}

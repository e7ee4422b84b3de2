import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import type { OperationResult } from '#api-contract/operation-result.ts'
import { operations, type OperationBody, type OperationName } from '#api-contract/operations.ts'
import type { ClusterView } from '#api-contract/views.ts'
import { ApiReader, tokenOf, type ApiTarget } from './api-reader.ts'

/** Reads a manager's HTTP API, and asks for operations. */
export class ApiClient extends ApiReader {
  static async open(target: ApiTarget): Promise<ApiClient> {
    const token = await tokenOf(target)
    return new ApiClient({ url: target.url, token, fetch: (url, init) => fetch(url, init) })
  }

  /** Asks for an operation on the cluster at this path below /api/v1. Throws as `get` does. */
  async operate<N extends OperationName>(
    path: string,
    operation: N,
    body: OperationBody<N>,
    deadlineMs = operations[operation].deadlineMs(body),
  ): Promise<OperationResult> {
    return (await this.request('POST', `${path}/${operation}`, body, deadlineMs)) as OperationResult
  }

  /** The cluster named, or the only one that the manager has. Throws `REGENT_NOT_FOUND`, listing what there is. */
  async clusterName(wanted: string | undefined): Promise<string> {
    if (wanted !== undefined) return wanted
    const clusters = await this.get<readonly ClusterView[]>('/clusters')
    const [only] = clusters
    if (only !== undefined && clusters.length === 1) return only.name
    const names = clusters.map((cluster) => cluster.name).join(', ')
    throw new RegentError(
      'REGENT_NOT_FOUND',
      names === ''
        ? say`the manager at ${this.url} has no cluster`
        : say`the manager at ${this.url} has several clusters, so name one of them: ${names}`,
    )
  }
}

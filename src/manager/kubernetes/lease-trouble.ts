import { codeOf, describeError } from '#common/errors/errors.ts'
import { isAlreadyExists, isConflict, isNotFound, KubeApiError } from '#controller-runtime/client/kube-api-error.ts'
import type { KubeClient } from '#controller-runtime/client/kube-client.ts'

type LeaseClient = Pick<KubeClient, 'get' | 'create' | 'update'>

/** Why the API server keeps a manager from its lease belongs into what a manager without a lead says. */
export function noting(client: LeaseClient, storeSaid: (trouble: string) => void): LeaseClient {
  const noted = async <Result>(asked: Promise<Result>): Promise<Result> => {
    try {
      const result = await asked
      storeSaid('')
      return result
    } catch (error) {
      if (isTrouble(error)) storeSaid(describeError(error))
      throw error
    }
  }
  return {
    get: (...asked) => noted(client.get(...asked)),
    create: (...asked) => noted(client.create(...asked)),
    update: (...asked) => noted(client.update(...asked)),
  }
}

/** No answer, or one that is not about the lease: etcd is away, a right is missing. Not what was given up here. */
function isTrouble(error: unknown): boolean {
  const isAboutLease = isConflict(error) || isAlreadyExists(error) || isNotFound(error)
  return error instanceof KubeApiError ? !isAboutLease : codeOf(error) === 'REGENT_KUBE_UNREACHABLE'
}

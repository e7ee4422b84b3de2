import { resolve } from 'node:path'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import type { LocalCluster } from '#local/folder/cluster-file.ts'
import { layoutOf } from '#local/folder/state-layout.ts'
import { listenerAt } from '#local/processes/listener.ts'
import type { ApiTarget } from './api-reader.ts'

/** Where the manager of a local cluster listens, and the file with its token. */
export function localTarget(dir: string, cluster: LocalCluster): ApiTarget {
  return { url: `http://${cluster.api.host}:${cluster.api.port}`, tokenFile: layoutOf(dir).apiToken }
}

/**
 * The manager of a local cluster. Throws `REGENT_API_UNREACHABLE` where another process has its address, such as the
 * manager of another cluster: that process is shown no token, and not believed. Where nobody listens, or in a network
 * that is not seen from here, the request will tell.
 */
export async function localManager(dir: string, cluster: LocalCluster): Promise<ApiTarget> {
  const { host, port } = cluster.api
  const listener = await listenerAt(host, port)
  if (listener !== undefined && (listener.managerOf === undefined || resolve(listener.managerOf) !== resolve(dir))) {
    const who =
      listener.managerOf === undefined
        ? say`another process${listener.pid === undefined ? '' : say` (pid ${listener.pid})`}`
        : say`the manager of the cluster in ${listener.managerOf} (pid ${listener.pid})`
    const place = say`${host}:${port}, where the manager of ${cluster.name} is to listen,`
    throw new RegentError(
      'REGENT_API_UNREACHABLE',
      say`${place} is held by ${who}, which is not asked; "regent local up ${cluster.name} --port <another>" chooses another port`,
      { remedy: '' },
    )
  }
  return localTarget(dir, cluster)
}

import { RegentError } from '../common/errors.ts'
import type { ClusterView } from '../manager/api/views.ts'
import type { LocalCluster } from '../local/cluster-file.ts'
import { allClusters, findCluster } from '../local/cluster-index.ts'
import { layoutOf } from '../local/state-layout.ts'
import { ApiClient, type ApiTarget } from './api-client.ts'
import type { ApiOptions } from './common-options.ts'
import type { Io } from './io.ts'

/** A manager, and the cluster that a command is about. */
export interface Connection {
  readonly client: ApiClient
  readonly cluster: string
  /** Path of the cluster below /api/v1. */
  readonly path: string
}

/**
 * Finds the manager: --api and --token-file, else REGENT_API and REGENT_TOKEN_FILE, else the local cluster that is named
 * or the only one. Throws `REGENT_BAD_REQUEST` for a URL without a token file.
 */
export async function connect(io: Io, options: ApiOptions, wanted: string | undefined): Promise<Connection> {
  const remote = remoteTarget(io, options)
  if (remote !== undefined) {
    const client = await ApiClient.open(remote)
    const cluster = await client.clusterName(wanted)
    return { client, cluster, path: `/clusters/${encodeURIComponent(cluster)}` }
  }
  const { dir, cluster } = await findCluster(wanted)
  const local = localTarget(dir, cluster)
  const client = await ApiClient.open({ ...local, tokenFile: options.tokenFile ?? local.tokenFile })
  return { client, cluster: cluster.name, path: `/clusters/${cluster.name}` }
}

/** True where the manager that would be asked has a cluster of this name: tells `recoveries demo` from `recoveries <id>`. */
export async function isCluster(io: Io, options: ApiOptions, word: string): Promise<boolean> {
  const remote = remoteTarget(io, options)
  if (remote === undefined) return (await allClusters(() => undefined)).some((found) => found.cluster.name === word)
  const clusters = await (await ApiClient.open(remote)).get<readonly ClusterView[]>('/clusters')
  return clusters.some((cluster) => cluster.name === word)
}

function remoteTarget(io: Io, options: ApiOptions): ApiTarget | undefined {
  const url = options.api ?? io.env['REGENT_API']
  if (!url) return undefined
  const tokenFile = options.tokenFile ?? io.env['REGENT_TOKEN_FILE']
  if (!tokenFile) throw new RegentError('REGENT_BAD_REQUEST', `${url} needs a token: give --token-file or set REGENT_TOKEN_FILE`)
  if (!URL.canParse(url)) throw new RegentError('REGENT_BAD_REQUEST', `REGENT_API is "${url}"; allowed is an http:// or https:// URL, for example http://127.0.0.1:9500`)
  return { url: url.replace(/\/+$/, ''), tokenFile }
}

/** Where the manager of a local cluster listens, and the file with its token. */
export function localTarget(dir: string, cluster: LocalCluster): ApiTarget {
  return { url: `http://${cluster.api.host}:${cluster.api.port}`, tokenFile: layoutOf(dir).apiToken }
}

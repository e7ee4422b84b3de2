import { adoptedFolder, clusterIn, readManager, watchedFiles } from '#adopt/adopted-folder.ts'
import { described, RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import type { LocalCluster } from '#local/folder/cluster-file.ts'
import { allClusters, findCluster, type FoundCluster } from '#local/clusters/cluster-index.ts'
import type { ClusterView } from '#api-contract/views.ts'
import { ApiClient } from './api-client.ts'
import type { ApiTarget } from './api-reader.ts'
import { clusterId, clusterName } from './cluster-reference.ts'
import { localManager } from './local-manager.ts'
import { allowedApiUrl, apiUrlIn } from '../terminal/arguments.ts'
import type { ApiOptions } from '../terminal/common-options.ts'
import { isKubectlPlugin, type Io } from '../terminal/io.ts'
import type { Connection, Place } from './place.ts'

/**
 * Decides where a command looks for its cluster. Kubernetes is asked only by those who say so (an option of it,
 * kubectl, a namespace before the cluster's name), never because nothing else was found: a kubeconfig's context may be
 * the production that nobody thought of. --api and these options outrank REGENT_API, which outranks a namespace and
 * what is local. Throws `REGENT_BAD_REQUEST` for options that contradict each other and for a URL without a token file.
 */
export async function findPlace(io: Io, options: ApiOptions, wanted: string | undefined): Promise<Place> {
  const { context, namespace, kubeconfig, managerNamespace, api, tokenFile } = options
  const isAsked = [context, namespace, kubeconfig, managerNamespace].some((option) => option !== undefined)
  if (isAsked && (api ?? tokenFile) !== undefined) {
    throw new RegentError(
      'REGENT_BAD_REQUEST',
      say`--api and --token-file name a manager by its URL, --context, --namespace, --kubeconfig and --manager-namespace one on Kubernetes: give only one of the two`,
    )
  }
  if (isAsked || (api === undefined && isKubectlPlugin(io))) return onKubernetes(io, options)
  const remote = remoteTarget(io, options)
  if (remote !== undefined) return remotePlace(await ApiClient.open(remote))
  return wanted?.includes('/') === true ? onKubernetes(io, options) : localPlace(options)
}

/** A person means a cluster of another machine: its store of backups is read there, where login and key are. */
export function isElsewhere(io: Io, options: ApiOptions, wanted: string | undefined): boolean {
  const { context, namespace, kubeconfig, managerNamespace, api } = options
  const said = [context, namespace, kubeconfig, managerNamespace, api ?? io.env['REGENT_API']]
  return isKubectlPlugin(io) || wanted?.includes('/') === true || said.some((option) => Boolean(option))
}

async function onKubernetes(io: Io, options: ApiOptions): Promise<Place> {
  const { kubernetesPlace } = await import('./kubernetes-place.ts')
  return kubernetesPlace(io, options)
}

function remotePlace(client: ApiClient): Place {
  return {
    isCluster: async (word) =>
      (await client.get<readonly ClusterView[]>('/clusters')).some(({ name }) => name === clusterId(word)),
    async connect(wanted) {
      const id = clusterId(await client.clusterName(wanted))
      return { client, cluster: clusterName(id), path: `/clusters/${encodeURIComponent(id)}` }
    },
    [Symbol.asyncDispose]: async () => undefined,
  }
}

function localPlace({ tokenFile }: ApiOptions): Place {
  return {
    isCluster: async (word) =>
      (await allClusters(() => undefined)).some((found) => found.cluster.name === word) ||
      (await watchedNames()).includes(word),
    async connect(wanted) {
      const watched = await watchedOf(wanted)
      if (watched !== undefined) return openWatched(watched, tokenFile)
      const { dir, cluster } = await findLocal(wanted)
      const client = await openLocal(dir, cluster, tokenFile)
      return { client, cluster: cluster.name, path: `/clusters/${cluster.name}` }
    },
    [Symbol.asyncDispose]: async () => undefined,
  }
}

async function watchedNames(): Promise<readonly string[]> {
  return [...(await watchedFiles(adoptedFolder())).keys()].map(clusterIn)
}

/** The watched cluster that is meant: by its name, or the only one where no cluster runs on this machine. */
async function watchedOf(wanted: string | undefined): Promise<string | undefined> {
  const names = await watchedNames()
  if (wanted !== undefined) return names.find((name) => name === wanted)
  return names.length === 1 && (await allClusters(() => undefined)).length === 0 ? names[0] : undefined
}

/** The manager that watches adopted clusters. Throws `REGENT_API_UNREACHABLE` where none runs. */
export async function openWatched(cluster: string, tokenFile?: string): Promise<Connection> {
  const folder = adoptedFolder()
  const manager = await readManager(folder)
  if (manager === undefined)
    throw new RegentError('REGENT_API_UNREACHABLE', say`no manager watches ${cluster}; "regent adopt start" starts it`)
  const url = `http://${manager.host}:${manager.port}`
  const client = await ApiClient.open({ url, tokenFile: tokenFile ?? folder.apiToken })
  return { client, cluster, path: `/clusters/${cluster}` }
}

async function findLocal(wanted: string | undefined): Promise<FoundCluster> {
  try {
    return await findCluster(wanted)
  } catch (error) {
    if (!(error instanceof RegentError) || error.code !== 'REGENT_NOT_FOUND') throw error
    throw new RegentError(
      'REGENT_NOT_FOUND',
      say`${described(error)}. One on Kubernetes is asked for with -n <namespace>, --context or kubectl regent`,
      { cause: error, remedy: error.remedyIn('local') },
    )
  }
}

function remoteTarget(io: Io, options: ApiOptions): ApiTarget | undefined {
  const url = options.api ?? urlOf(io.env['REGENT_API'])
  if (url === undefined) return undefined
  const tokenFile = options.tokenFile ?? io.env['REGENT_TOKEN_FILE']
  if (!tokenFile)
    throw new RegentError('REGENT_BAD_REQUEST', say`${url} needs a token: give --token-file or set REGENT_TOKEN_FILE`)
  return { url, tokenFile }
}

/** What is refused is not printed: there may be a password in the address. */
function urlOf(variable: string | undefined): string | undefined {
  if (!variable) return undefined
  const url = apiUrlIn(variable)
  if (url !== undefined) return url
  throw new RegentError('REGENT_BAD_REQUEST', say`REGENT_API is none that is taken. ${allowedApiUrl}`, { remedy: '' })
}

/** The manager of a local cluster. Throws as `localManager` does. */
export async function openLocal(dir: string, cluster: LocalCluster, tokenFile?: string): Promise<ApiClient> {
  const target = await localManager(dir, cluster)
  return ApiClient.open({ ...target, tokenFile: tokenFile ?? target.tokenFile })
}

import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { findCluster, type FoundCluster } from '#local/clusters/cluster-index.ts'
import { clusterOfInstance } from '#local/folder/names.ts'
import { layoutOf, stateHome } from '#local/folder/state-layout.ts'
import { readRoute } from '#local/platform/routes.ts'

/**
 * The instance of that name with its cluster; for `primary` and `<cluster>/primary` the one that was published last as
 * the primary. Throws `REGENT_NOT_FOUND` where there is none.
 */
export async function instanceNamed(
  named: string,
  home = stateHome(),
): Promise<FoundCluster & { readonly instance: string }> {
  const [, cluster] = /^(?:(.*)\/)?primary$/.exec(named) ?? []
  if (!named.endsWith('primary')) return { ...(await findCluster(clusterOfInstance(named), home)), instance: named }
  const found = await findCluster(cluster, home)
  const route = await readRoute(layoutOf(found.dir).routes)
  if (route === undefined)
    throw new RegentError('REGENT_NOT_FOUND', say`${found.cluster.name} has had no primary yet; name an instance`)
  return { ...found, instance: route.instance }
}

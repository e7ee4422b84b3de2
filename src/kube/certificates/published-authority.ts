import type { KubeClient, RequestOptions } from '#controller-runtime/client/kube-client.ts'
import { configMaps } from '#controller-runtime/objects/config-map.ts'
import { manager } from '../names/manager-names.ts'
import { labels } from '../names/names.ts'

/**
 * Writes whom to trust as a manager to where people read it who must not read the authority's key: a ConfigMap. While
 * one authority replaces another both are in it.
 */
export async function publishAuthority(
  client: Pick<KubeClient, 'get' | 'create' | 'update'>,
  { namespace, ca }: { readonly namespace: string; readonly ca: string },
  options: RequestOptions,
): Promise<void> {
  const key = { namespace, name: manager.authorityConfigMap }
  const found = await client.get(configMaps, key, options)
  if (found?.data?.[manager.caKey] === ca) return
  const data = { ...found?.data, [manager.caKey]: ca }
  if (found === undefined)
    await client.create(
      configMaps,
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { ...key, labels: { [labels.managedBy]: 'regent' } }, data },
      options,
    )
  else await client.update(configMaps, { ...found, data }, options)
}

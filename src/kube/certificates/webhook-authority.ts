import type { JsonPatchOperation, KubeClient, RequestOptions } from '#controller-runtime/client/kube-client.ts'
import type { KubeObject, Resource } from '#controller-runtime/objects/objects.ts'
import { manager } from '../names/manager-names.ts'

interface WebhookConfiguration extends KubeObject {
  readonly webhooks?: readonly {
    readonly name: string
    readonly clientConfig: { readonly caBundle?: string; readonly service?: { readonly name: string } }
  }[]
}

const configurations: readonly Resource<WebhookConfiguration>[] = (['Mutating', 'Validating'] as const).map((kind) => ({
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  kind: `${kind}WebhookConfiguration`,
  plural: `${kind.toLowerCase()}webhookconfigurations`,
  namespaced: false,
}))

/**
 * Tells the API server whom to trust when it calls Regent's webhooks: writes `caBundle` of both configurations where it
 * differs. A configuration that is not installed needs none.
 */
export async function injectAuthority(
  client: Pick<KubeClient, 'get' | 'patch'>,
  { name, ca }: { readonly name: string; readonly ca: string },
  options: RequestOptions,
): Promise<void> {
  const caBundle = Buffer.from(ca).toString('base64')
  for (const resource of configurations) {
    const found = await client.get(resource, { namespace: '', name }, options)
    const patch = (found?.webhooks ?? []).flatMap((webhook, index): JsonPatchOperation[] => {
      if (webhook.clientConfig.service?.name !== manager.webhookService || webhook.clientConfig.caBundle === caBundle)
        return []
      // A list is patched by position: the name proves that the entry is still the same.
      return [
        { op: 'test', path: `/webhooks/${index}/name`, value: webhook.name },
        { op: 'add', path: `/webhooks/${index}/clientConfig/caBundle`, value: caBundle },
      ]
    })
    if (patch.length > 0) await client.patch(resource, { namespace: '', name }, patch, options)
  }
}

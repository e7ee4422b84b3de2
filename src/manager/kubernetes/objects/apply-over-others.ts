import type { KubeClient } from '#controller-runtime/client/kube-client.ts'
import { isInvalid } from '#controller-runtime/client/kube-api-error.ts'
import { keyOf } from '#controller-runtime/objects/objects.ts'
import { fieldManager } from '#kube/names/names.ts'
import { services, type Service } from '#kube/objects/services.ts'

/**
 * Applies a Service that is there. Some of what others add cannot stand beside what is ours: ports are told apart by
 * their numbers, and where a hand changed one, the apply puts ours beside it, and two of one name are refused. Then
 * that is written first.
 */
export async function applyOverOthers<Applied>(
  service: Service,
  apply: () => Promise<Applied>,
  { client, signal }: { readonly client: KubeClient; readonly signal: AbortSignal },
): Promise<Applied> {
  try {
    return await apply()
  } catch (error) {
    if (!isInvalid(error)) throw error
    const { ports, sessionAffinity } = service.spec
    await client.patch(
      services,
      keyOf(service),
      { spec: { ports, sessionAffinity, sessionAffinityConfig: null } },
      { fieldManager, signal },
    )
    return apply()
  }
}

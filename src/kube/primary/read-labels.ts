import { isConflict, isNotFound } from '#controller-runtime/client/kube-api-error.ts'
import type { KubeClient } from '#controller-runtime/client/kube-client.ts'
import { keyOf } from '#controller-runtime/objects/objects.ts'
import { labels } from '../names/names.ts'
import { pods, type Pod } from '../pods/stateful-set.ts'

/** Whether Service `<cluster>-replicas` leads to the pod. */
export function isRead({ metadata }: Pod): boolean {
  return metadata.labels?.[labels.reads] === 'open'
}

/** Labels the pods that get reads. On before off: reads must not be without any pod in between. */
export async function moveReads(
  client: Pick<KubeClient, 'patch'>,
  all: readonly Pod[],
  readers: readonly string[],
  signal?: AbortSignal,
): Promise<void> {
  const wanted = (pod: Pod): boolean => readers.includes(pod.metadata.name)
  for (const isOn of [true, false]) {
    const due = all.filter((pod) => wanted(pod) === isOn && isRead(pod) !== isOn)
    await Promise.all(due.map((pod) => label(client, pod, isOn, signal)))
  }
}

/** Only that very pod: the next one of the name gets reads once its server follows. */
async function label(
  client: Pick<KubeClient, 'patch'>,
  pod: Pod,
  isOn: boolean,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { uid } = pod.metadata
  const metadata = { ...(uid !== undefined && { uid }), labels: { [labels.reads]: isOn ? 'open' : null } }
  try {
    await client.patch(pods, keyOf(pod), { metadata }, { ...(signal && { signal }) })
  } catch (error) {
    if (!isNotFound(error) && !isConflict(error)) throw error
  }
}

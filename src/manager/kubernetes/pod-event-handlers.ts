import type { KubeClient } from '../../controller-runtime/client/kube-client.ts'
import { decideRole } from '../../kube/pod-events/decide-role.ts'
import type { PodDecision } from '../../kube/pod-events/decision.ts'
import type { Topic } from '../../kube/pod-events/handlers.ts'
import type { PodEvent } from '../../kube/pod-events/pod-event.ts'
import { readComponent } from './component-objects.ts'

/** Reads what a rule needs to know, and asks the rule. */
export type PodEventHandler = (event: PodEvent, signal: AbortSignal) => Promise<PodDecision>

export function podEventHandlers(client: Pick<KubeClient, 'get' | 'list'>): Readonly<Record<Topic, PodEventHandler>> {
  const read = (event: PodEvent, signal: AbortSignal) =>
    readComponent(client, event.metadata.namespace ?? '', event.involvedObject?.name ?? '', signal)
  return {
    role: async (event, signal) => decideRole({ event, ...(await read(event, signal)) }),
  }
}

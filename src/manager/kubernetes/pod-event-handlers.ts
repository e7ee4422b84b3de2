import type { KubeClient } from '../../controller-runtime/client/kube-client.ts'
import { configMaps } from '../../kube/objects/agent-config.ts'
import { decideRole } from '../../kube/pod-events/decide-role.ts'
import { decideTask } from '../../kube/pod-events/decide-task.ts'
import type { PodDecision } from '../../kube/pod-events/decision.ts'
import { decideWord, type Topic } from '../../kube/pod-events/handlers.ts'
import { componentOf } from '../../kube/pod-events/messages.ts'
import type { PodEvent } from '../../kube/pod-events/pod-event.ts'
import { environmentOf } from '../../kube/pod-events/task-record.ts'
import { readComponent } from './component-objects.ts'

/** Reads what a rule needs to know, and asks the rule. */
export type PodEventHandler = (event: PodEvent, signal: AbortSignal) => Promise<PodDecision>

export function podEventHandlers(client: Pick<KubeClient, 'get' | 'list'>): Readonly<Record<Topic, PodEventHandler>> {
  const read = (event: PodEvent, signal: AbortSignal) =>
    readComponent(client, event.metadata.namespace ?? '', event.involvedObject?.name ?? '', signal)
  return {
    role: async (event, signal) => decideRole({ event, ...(await read(event, signal)) }),
    task: async (event, signal) => {
      const [known, environment] = await Promise.all([read(event, signal), readEnvironment(client, event, signal)])
      return decideTask({ event, ...known, environment })
    },
    availability: (event) => Promise.resolve(decideWord(event)),
  }
}

async function readEnvironment(client: Pick<KubeClient, 'get'>, event: PodEvent, signal: AbortSignal) {
  const component = componentOf(event)
  if (component === '') return undefined
  return client.get(
    configMaps,
    { namespace: event.metadata.namespace ?? '', name: environmentOf(component) },
    { signal },
  )
}

import type { Clock } from '#common/ports/ports.ts'
import type { KubeClient } from '#controller-runtime/client/kube-client.ts'
import { configMaps } from '#controller-runtime/objects/config-map.ts'
import { isObjectName } from '#kube/pod-events/component.ts'
import { decideRole, hearRole } from '#kube/pod-events/decide-role.ts'
import { decideTask } from '#kube/pod-events/decide-task.ts'
import type { PodDecision } from '#kube/pod-events/decision.ts'
import { decideWord, type Topic } from '#kube/pod-events/handlers.ts'
import { componentOf } from '#kube/pod-events/messages.ts'
import type { PodEvent } from '#kube/pod-events/pod-event.ts'
import { pods } from '#kube/pods/stateful-set.ts'
import { environmentOf } from '#kube/pod-events/task-record.ts'
import { readComponent } from './component-objects.ts'

/** Reads what a rule needs to know, and asks the rule. */
export type PodEventHandler = (event: PodEvent, signal: AbortSignal) => Promise<PodDecision>

export function podEventHandlers(
  client: Pick<KubeClient, 'get' | 'list'>,
  serverClock: Pick<Clock, 'wallMs'>,
): Readonly<Record<Topic, PodEventHandler>> {
  return {
    role: async (event, signal) => {
      const heard = hearRole(event, await readPod(client, event, signal))
      if (!('claim' in heard)) return heard
      const { owner, peers } = await readComponent(client, heard.pod, signal)
      return decideRole({ ...heard, owner, peers, serverMs: serverClock.wallMs() })
    },
    task: async (event, signal) => {
      const [known, environment] = await Promise.all([
        readPod(client, event, signal).then((pod) => readComponent(client, pod, signal)),
        readEnvironment(client, event, signal),
      ])
      return decideTask({ event, ...known, environment })
    },
    availability: (event) => Promise.resolve(decideWord(event)),
  }
}

/** The pod of that name as it is now: its uid may be another than the one that is meant. */
async function readPod(client: Pick<KubeClient, 'get'>, { metadata, involvedObject }: PodEvent, signal: AbortSignal) {
  const name = involvedObject?.name ?? ''
  return isObjectName(name) ? client.get(pods, { namespace: metadata.namespace ?? '', name }, { signal }) : undefined
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

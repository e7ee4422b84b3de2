import { reported, say, type Sentence } from '#common/sentence/sentence.ts'
import { configMaps, type ConfigMap } from '#controller-runtime/objects/config-map.ts'
import type { Pod } from '../pods/stateful-set.ts'
import { isGoverned, type Owner, type OwnerPlace } from './component.ts'
import { metadataChange, unchanged, type Change, type PodDecision } from './decision.ts'
import { marks } from './marks.ts'
import { taskMessageOf, type TaskMessage } from './messages.ts'
import type { PodEvent } from './pod-event.ts'
import { replicasStatusIn, withReplica, type ReplicaStatus } from './replicas-status.ts'
import { environmentOf, isAskedAgain, isPending, taskKey, tasksIn, withoutReplica } from './task-record.ts'

export interface TaskQuestion {
  readonly event: PodEvent
  readonly pod: Pod | undefined
  readonly place: OwnerPlace | undefined
  readonly owner: Owner | undefined
  /** The ConfigMap from which the component's pods take their environment; undefined where there is none. */
  readonly environment: ConfigMap | undefined
}

interface Known {
  readonly message: TaskMessage
  readonly pod: Pod
  readonly place: OwnerPlace
  readonly owner: Owner
  readonly environment: ConfigMap | undefined
}

type Stage = 'finished' | 'failed' | 'unfinished'

/** The task that a worker of KubeBlocks' agent knows: to load the data of a new replica. */
const newReplica = 'newReplica'

/**
 * What the word of a worker about its task changes: the environment record, from which a replica is taken that is done,
 * and how far its owner says the replica is. The record comes first: a pod that restarts in between must not load its
 * data again.
 */
export function decideTask({ event, pod, place, owner, environment }: TaskQuestion): PodDecision {
  const message = taskMessageOf(event)
  const name = event.involvedObject?.name ?? ''
  if (message === undefined) return unchanged('TaskNotUnderstood', say`${name}: its message is no task's`, 'warning')
  if (pod === undefined || pod.metadata.uid !== event.involvedObject?.uid)
    return unchanged('PodGone', say`${name}: the pod whose ${message.task} this is about is gone`)
  if (isGoverned(pod)) return unchanged('TaskGoverned', say`${name} is seeded as Regent's record says`, 'notice')
  if (owner === undefined || place === undefined)
    return unchanged('OwnerUnknown', say`${name} is no pod of a StatefulSet or an InstanceSet`, 'notice')
  return ofMember({ message, pod, place, owner, environment: takenBy(pod, environment) })
}

function ofMember(known: Known): PodDecision {
  const refusal = refusalOf(known.message, known.pod.metadata.name)
  return refusal === undefined ? ofNewReplica(known) : unchanged('TaskNotUnderstood', refusal, 'warning')
}

function refusalOf({ task, replica }: TaskMessage, pod: string): Sentence | undefined {
  if (task !== newReplica) return say`${pod}: nobody here knows the task ${task}`
  return replica === pod ? undefined : say`${pod} speaks of a task of ${replica}, and a worker speaks for itself alone`
}

/**
 * Only the environment that the pod itself takes: the name of a component in a message is what somebody wrote, and must
 * not lead to the ConfigMap of somebody else.
 */
function takenBy({ spec }: Pod, environment: ConfigMap | undefined): ConfigMap | undefined {
  const name = environment?.metadata.name
  const containers = [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])]
  const names = containers.flatMap(({ env = [], envFrom = [] }) => [
    ...envFrom.map(({ configMapRef }) => configMapRef?.name),
    ...env.map(({ valueFrom }) => valueFrom?.configMapKeyRef?.name),
  ])
  return name !== undefined && names.includes(name) ? environment : undefined
}

function ofNewReplica(known: Known): PodDecision {
  const { message, owner, environment } = known
  const stage = stageOf(message)
  try {
    const tasks = tasksIn(environment?.data?.[taskKey])
    if (stage !== 'finished' && environment !== undefined && !isPending(tasks, message))
      return unchanged('TaskOver', say`${message.replica}: its ${message.task} is over already`)
    if (!isPending(tasks, message) && isAskedAgain(tasks, message))
      return unchanged(
        'TaskOver',
        say`${message.replica}: its ${message.task} of that time is over, and another one waits for it`,
      )
    return {
      changes: [...recordChange(known, stage, tasks), ...statusChange(known, stage)],
      ...told(message, stage),
    }
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    const where = say`${owner.kind} ${owner.metadata.name} and its environment ${environmentOf(message.instance)}`
    return unchanged('TaskNotUnderstood', say`${where} cannot be read: ${reported(error.message)}`, 'warning')
  }
}

function stageOf({ endTime, code }: TaskMessage): Stage {
  if (endTime === undefined) return 'unfinished'
  return code === 0 ? 'finished' : 'failed'
}

function told(
  { replica, task, message, code }: TaskMessage,
  stage: Stage,
): Pick<PodDecision, 'weight' | 'reason' | 'sentence'> {
  const why = message === '' ? '' : say`: ${reported(message)}`
  switch (stage) {
    case 'finished':
      return { weight: 'news', reason: 'TaskFinished', sentence: say`${replica} has its data: ${task} is finished` }
    case 'failed':
      return {
        weight: 'warning',
        reason: 'TaskFailed',
        sentence: say`${replica}: ${task} failed with code ${code}${why}`,
      }
    case 'unfinished':
      return { weight: 'news', reason: 'TaskProgress', sentence: say`${replica}: ${task} goes on${why}` }
  }
}

function recordChange({ message, environment }: Known, stage: Stage, tasks: ReturnType<typeof tasksIn>): Change[] {
  if (stage !== 'finished' || environment === undefined || !isPending(tasks, message)) return []
  const { namespace = '', name, resourceVersion } = environment.metadata
  const data = { [taskKey]: JSON.stringify(withoutReplica(tasks, message)) }
  return [{ resource: configMaps, key: { namespace, name }, patch: { metadata: { resourceVersion }, data } }]
}

/** A worker that failed is started again by the kubelet: whether there is any data stays as it was. */
function fieldsOf({ message }: TaskMessage, stage: Stage): Omit<ReplicaStatus, 'name'> {
  if (stage === 'failed') return { message: message === '' ? 'failed' : message, provisioned: true }
  return { message, provisioned: true, dataLoaded: stage === 'finished' }
}

function statusChange({ message, pod, place, owner }: Known, stage: Stage): Change[] {
  const written = owner.metadata.annotations?.[marks.replicasStatus]
  const added = {
    name: message.replica,
    generation: String(owner.metadata.generation ?? 0),
    creationTimestamp: pod.metadata.creationTimestamp ?? '0001-01-01T00:00:00Z',
  }
  const before = replicasStatusIn(written, owner.spec?.replicas ?? 0)
  const after = JSON.stringify(withReplica(before, added, fieldsOf(message, stage)))
  if (after === written) return []
  return [metadataChange(place.resource, owner, { annotations: { [marks.replicasStatus]: after } })]
}

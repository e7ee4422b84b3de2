import { counted, say, type Sentence } from '#common/sentence/sentence.ts'
import { transitionTime } from '#controller-runtime/objects/conditions.ts'
import type { Pod } from '../pods/stateful-set.ts'
import { stateOfPod } from '../pods/pod-state.ts'
import type { Service } from '../objects/services.ts'
import type { App } from './app.ts'
import { appSelectorTextOf, type Deployment, type DeploymentStatus } from './app-objects.ts'
import { appConditionTypes, type AppCondition, type AppStatus } from './app-schema.ts'

export interface AppSeen {
  readonly app: App
  readonly deployment: Deployment | undefined
  readonly service: Service | undefined
  /** Looked at only while something is missing. */
  readonly pods: readonly Pod[]
  /** Why Deployment and Service are not as the spec says; '' where they are. */
  readonly trouble: string
  readonly wallMs: number
}

type Said = Pick<AppCondition, 'status' | 'reason'> & { readonly message: string }

/** What `kubectl get` and `describe` tell of an App. Nothing is decided from it. */
export function appStatusOf(seen: AppSeen): AppStatus {
  const { app, deployment, service, trouble } = seen
  const { generation, name, namespace } = app.metadata
  const { replicas, readyReplicas, updatedReplicas } = countsOf(deployment)
  const ready = readiness(seen)
  const clusterIP = service?.spec.clusterIP
  return {
    ...(generation !== undefined && { observedGeneration: generation }),
    conditions: conditionsOf(seen, { Ready: ready, InStep: inStep(trouble) }),
    sentence: trouble === '' ? ready.message : trouble,
    ...{ replicas, readyReplicas, updatedReplicas },
    selector: appSelectorTextOf(name),
    ...(service !== undefined && { address: `${service.metadata.name}.${namespace}.svc` }),
    ...(clusterIP !== undefined && { clusterIP }),
  }
}

function conditionsOf(
  { app, wallMs }: AppSeen,
  said: Readonly<Record<(typeof appConditionTypes)[number], Said>>,
): AppCondition[] {
  const { generation } = app.metadata
  return appConditionTypes.map((type) => ({
    type,
    ...said[type],
    lastTransitionTime: transitionTime(app.status?.conditions, { type, status: said[type].status }, wallMs),
    ...(generation !== undefined && { observedGeneration: generation }),
  }))
}

function inStep(trouble: string): Said {
  return trouble === ''
    ? { status: 'True', reason: 'Applied', message: 'Deployment and Service are as the spec says' }
    : { status: 'False', reason: 'NotApplied', message: trouble }
}

/** What is not said is nought. */
function countsOf(deployment: Deployment | undefined): Required<Omit<DeploymentStatus, 'conditions'>> {
  const none = { observedGeneration: 0, replicas: 0, readyReplicas: 0, availableReplicas: 0, updatedReplicas: 0 }
  return { ...none, ...deployment?.status }
}

function readiness({ app, deployment, pods, trouble }: AppSeen): Said {
  if (deployment === undefined)
    return { status: 'False', reason: 'NotMade', message: trouble === '' ? 'the Deployment is not made yet' : trouble }
  const wanted = deployment.spec.replicas ?? app.spec.replicas
  if (isWhole(deployment, wanted)) return { status: 'True', reason: 'AllReady', message: String(allReady(wanted)) }
  const { availableReplicas, updatedReplicas } = countsOf(deployment)
  const counts = say`${availableReplicas} of ${counted(wanted, 'pod')} ready, ${updatedReplicas} of the newest spec`
  const why = whyNot(deployment, pods)
  return why === ''
    ? { status: 'False', reason: 'RollingOut', message: String(counts) }
    : { status: 'False', reason: 'PodsNotReady', message: `${String(counts)}: ${why}` }
}

function isWhole(deployment: Deployment, wanted: number): boolean {
  const { observedGeneration, availableReplicas, updatedReplicas, replicas } = countsOf(deployment)
  const isSeen = observedGeneration >= (deployment.metadata.generation ?? 0)
  return isSeen && availableReplicas >= wanted && updatedReplicas === wanted && replicas === wanted
}

function allReady(wanted: number): Sentence {
  return wanted === 0 ? say`no pod is wanted` : say`${counted(wanted, 'pod')} ready, all of the newest spec`
}

/** What Kubernetes says of the pods, or of a Deployment that makes none. */
function whyNot({ status = {} }: Deployment, pods: readonly Pod[]): string {
  const ofPod = pods.map((pod) => ({ name: pod.metadata.name, trouble: stateOfPod(pod).trouble }))
  const troubled = ofPod.find(({ trouble }) => trouble !== '')
  if (troubled !== undefined) return `${troubled.name}: ${troubled.trouble}`
  const failure = status.conditions?.find(({ type, status: is }) => type === 'ReplicaFailure' && is === 'True')
  return failure?.message ?? ''
}

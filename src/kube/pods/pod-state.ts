import type { ContainerStatus, Pod } from './stateful-set.ts'

/** What Kubernetes says of a pod that is not there as it should be. */
export interface PodState {
  /** Why the pod waits, how it ended last, where it cannot be put; '' for nothing. */
  readonly trouble: string
  /** The pod is on its way, and nothing is known to be in the way. */
  readonly isStarting: boolean
}

/** Reasons of a container that waits and will go on by itself. */
const onTheWay: ReadonlySet<string> = new Set(['ContainerCreating', 'PodInitializing'])
/** So much of a message of others goes into a sentence. */
const mostLetters = 300

/** `mysql` waits: ImagePullBackOff (…); ended last by OOMKilled (exit code 137). */
export function stateOfPod({ status = {}, metadata }: Pod): PodState {
  const { initContainerStatuses = [], containerStatuses = [], conditions = [] } = status
  const containers = [...initContainerStatuses, ...containerStatuses]
  const words = [...unscheduled(conditions), ...containers.flatMap(waiting), ...containers.flatMap(endedLast)]
  const isGoing = metadata.deletionTimestamp !== undefined
  const isBegun = status.phase === 'Pending' || containers.some(({ state }) => state?.waiting !== undefined)
  return { trouble: words.join('; '), isStarting: words.length === 0 && !isGoing && isBegun }
}

function unscheduled(conditions: NonNullable<NonNullable<Pod['status']>['conditions']>): readonly string[] {
  return conditions
    .filter(({ type, status }) => type === 'PodScheduled' && status === 'False')
    .map(({ reason, message }) => `no node takes its pod: ${said(reason, message)}`)
}

function waiting({ name, state }: ContainerStatus): readonly string[] {
  const { reason, message } = state?.waiting ?? {}
  if (reason === undefined || onTheWay.has(reason)) return []
  return [`container ${name} of its pod waits: ${said(reason, message)}`]
}

function endedLast({ name, state, lastState }: ContainerStatus): readonly string[] {
  const { reason, exitCode = 0, message } = state?.terminated ?? lastState?.terminated ?? {}
  if (reason === undefined || exitCode === 0) return []
  return [`container ${name} of its pod ended last with exit code ${exitCode}: ${said(reason, message)}`]
}

/** A reason, and what is said of it beside. */
export function said(reason: string | undefined, message: string | undefined): string {
  const text = oneLine(message ?? '', mostLetters)
  return text === '' ? (reason ?? 'it does not say why') : `${reason ?? 'it says'} (${text})`
}

/** A text of others as part of a sentence: in one line, without what no reader sees, and cut where it is long. */
function oneLine(text: string, mostLetters: number): string {
  const line = text.replace(/[\s\p{C}]+/gu, ' ').trim()
  return line.length <= mostLetters ? line : `${line.slice(0, mostLetters - 1)}…`
}

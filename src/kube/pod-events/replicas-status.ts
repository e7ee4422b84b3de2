import { isFields, jsonObject } from './messages.ts'

/**
 * How far each replica of an owner is: annotation `apps.kubeblocks.io/replicas-status`. Fields that are not known here
 * are kept as they are, since another manager writes the annotation too.
 */
export interface ReplicaStatus {
  readonly name: string
  readonly generation?: string
  readonly creationTimestamp?: string
  readonly message?: string
  /** Its volume is there, and its worker has begun. */
  readonly provisioned?: boolean
  readonly dataLoaded?: boolean
  readonly memberJoined?: boolean
}

interface ReplicasStatus {
  readonly replicas: number
  readonly status: readonly ReplicaStatus[]
}

/** @throws SyntaxError where the text is something else */
export function replicasStatusIn(text: string | undefined, replicas: number): ReplicasStatus {
  if (text === undefined) return { replicas, status: [] }
  const said = jsonObject(text)
  // Go writes an empty list as null.
  const status = said?.['status'] ?? []
  if (said === undefined || !Array.isArray(status) || !status.every(isFields))
    throw new SyntaxError('it is no status of replicas')
  return { replicas, ...said, status: status as unknown as readonly ReplicaStatus[] }
}

/** The same with these fields of one replica, which is added where it is not there. An empty message is left out. */
export function withReplica(
  all: ReplicasStatus,
  added: ReplicaStatus,
  fields: Omit<ReplicaStatus, 'name' | 'generation' | 'creationTimestamp'>,
): ReplicasStatus {
  const changed = (before: ReplicaStatus): ReplicaStatus => {
    const { message, ...after } = { ...before, ...fields }
    return message === undefined || message === '' ? after : { ...after, message }
  }
  const isThere = all.status.some(({ name }) => name === added.name)
  const status = isThere ? all.status : [...all.status, added]
  return { ...all, status: status.map((each) => (each.name === added.name ? changed(each) : each)) }
}

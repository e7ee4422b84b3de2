import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'

/** The name of an instance: `<cluster>-<ordinal>`. */
export type InstanceName = string

/** A cluster has so many at most. */
export const mostInstances = 16

/**
 * An instance *and* the volume it lives on: `<instance>@<volume id>`. Quorums count members, never instances: an
 * instance that lost its volume lost its promise with it and is somebody new (docs/why/architecture.md, "Words").
 */
export type MemberId = `${string}@${string}`

export function memberId(instance: InstanceName, volume: string): MemberId {
  return `${instance}@${volume}`
}

export function instanceOf(member: MemberId): InstanceName {
  return member.slice(0, member.lastIndexOf('@'))
}

/** The ordinal in an instance's name. Throws `REGENT_BAD_NAME` where there is none. */
export function ordinalOf(instance: InstanceName): number {
  const digits = /-(\d+)$/.exec(instance)?.[1]
  if (digits === undefined) throw new RegentError('REGENT_BAD_NAME', say`"${instance}" is not <cluster>-<ordinal>`)
  return Number(digits)
}

/** Whether this can be the name of an instance of the cluster: it may have 16. */
export function isInstanceOf(cluster: string, name: string): boolean {
  const ordinal = name.startsWith(`${cluster}-`) ? name.slice(cluster.length + 1) : ''
  return /^(?:\d|1[0-5])$/.test(ordinal)
}

export function instanceName(cluster: string, ordinal: number): InstanceName {
  return `${cluster}-${ordinal}`
}

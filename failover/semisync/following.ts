import { instanceOf } from '#topology/snapshot/member.ts'
import type { Observation } from '#topology/snapshot/observation.ts'
import { sourceOf, type ClusterRecord } from '../protocol/record.ts'

/** Follows whom the record wants it to follow, in the record's epoch, both threads running. */
export function follows({ member, stored, server }: Observation, record: ClusterRecord): boolean {
  const channel = server?.channel
  return (
    stored.assignment?.role === 'replica' &&
    stored.assignment.epoch === record.epoch &&
    stored.assignment.source === instanceOf(sourceOf(record, member)) &&
    channel?.ioRunning === 'yes' &&
    channel.sqlRunning
  )
}

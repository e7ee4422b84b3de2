import { instanceOf, type InstanceName } from '#topology/snapshot/member.ts'
import { countedMembers } from '#failover/protocol/record.ts'
import { isLive, viewNamed, type LiveView, type Situation } from '../situation.ts'

/**
 * `server_uuid` of each replica whose acknowledgement counts, for the primary: an account and its password travel with
 * every copy of a volume, the uuid of a server that started on its own does not. What is not seen now is what the
 * primary was told before: a replica that is down has the uuid it had. A new one, after a trim or a copy, is told when
 * it is seen. Undefined for an agent that would refuse it.
 */
export function countedUuids(
  situation: Situation,
  { observation }: LiveView,
): Readonly<Record<InstanceName, string>> | undefined {
  const told = observation.stored.countedUuids
  if (told === undefined) return undefined
  const instances = [...new Set(countedMembers(situation.record).map(instanceOf))]
  return Object.fromEntries(
    instances.map((instance) => [instance, seenUuid(situation, instance) ?? told[instance] ?? '']),
  )
}

/**
 * A counted replica was seen with another uuid than its primary was told: the primary would end the replica's
 * connections for ever.
 */
export function knowsOtherUuids(situation: Situation, primary: LiveView): boolean {
  const told = primary.observation.stored.countedUuids ?? {}
  return Object.entries(countedUuids(situation, primary) ?? {}).some(
    ([instance, uuid]) => uuid !== (told[instance] ?? ''),
  )
}

/** Only of a member that counts: the same instance on another volume is somebody else. */
function seenUuid({ record, snapshot }: Situation, instance: InstanceName): string | undefined {
  const view = viewNamed(snapshot, instance)
  return isLive(view) && countedMembers(record).includes(view.observation.member)
    ? view.observation.server?.uuid
    : undefined
}

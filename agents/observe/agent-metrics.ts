import type { GroupState, MemberState, Observation, ServerState } from '#topology/snapshot/observation.ts'
import { backupFailures, backupValues } from './backup-metrics.ts'
import { gauge, type Value } from './prometheus-text.ts'

/** The agent's metrics in Prometheus' text format; few and flat, so that no library has to live beside every server. */
export function agentMetrics(seen: Observation): string {
  const labels = `{cluster="${seen.cluster}",instance="${seen.instance}"}`
  const { server, stored, converged } = seen
  const { group } = server ?? {}
  const values: readonly Value[] = [
    ['regent_agent_mysqld_running', '1 while mysqld runs', Number(seen.process === 'running')],
    ['regent_agent_ready', '1 while the server does what it is assigned to do', Number(converged.done)],
    ['regent_agent_primary', '1 while assigned primary', Number(stored.assignment?.role === 'primary')],
    ['regent_agent_promise', 'highest epoch promised', stored.promise],
    ['regent_agent_revision', 'newest revision of the record acted on', stored.revision],
    ['regent_agent_silent_milliseconds', 'since the server last answered', seen.silentMs],
    ['regent_agent_free_bytes', 'free on the data volume', seen.freeBytes],
    ['regent_agent_replica_lag_seconds', 'behind the source', server?.channel?.lagSeconds ?? null],
    [
      'regent_agent_replica_backlog_transactions',
      'received and not applied',
      server?.channel?.backlogTransactions ?? null,
    ],
    ...waitingValue(server),
    ...groupValues(group),
    ...backupValues(seen),
    ['process_resident_memory_bytes', 'of the agent', process.memoryUsage.rss()],
  ]
  return [
    ...values.map(([name, help, value]) => (value === null ? '' : gauge(name, help, [[labels, value]]))),
    group === undefined ? '' : memberStates(labels, group),
    backupFailures(labels, seen),
  ].join('')
}

/** Members of a group have no semi-sync. */
function waitingValue(server: ServerState | null): readonly Value[] {
  if (server === null || server.group !== undefined) return []
  return [['regent_agent_semisync_waiting', 'sessions that wait for an acknowledgement', server.semiSyncSource.waiting]]
}

/** In mode `group` alone. */
function groupValues(group: GroupState | undefined): readonly Value[] {
  if (group === undefined) return []
  const { members, certifying, applying, state } = group
  const isIn = state === 'ONLINE' || state === 'RECOVERING'
  const heard = members.filter((member) => member.state !== 'UNREACHABLE').length
  return [
    ['regent_agent_group_certifying_transactions', 'that wait here to be certified', certifying],
    ['regent_agent_group_applying_transactions', 'of other members that wait here to be applied', applying],
    ['regent_agent_group_members', 'members of the group in the view of this one', isIn ? members.length : 0],
    ['regent_agent_group_members_heard', 'members that this one hears, itself included', isIn ? heard : 0],
    ['regent_agent_group_majority', '1 while this member hears a majority', Number(isIn && heard * 2 > members.length)],
  ]
}

const states: readonly MemberState[] = ['ONLINE', 'RECOVERING', 'OFFLINE', 'ERROR', 'UNREACHABLE']

/** All of them, so that an alert can ask for one that is not. */
function memberStates(labels: string, { state }: GroupState): string {
  const rows = states.map((one) => [`${labels.slice(0, -1)},state="${one}"}`, Number(one === state)] as const)
  return gauge('regent_agent_group_member_state', '1 for the state of this member', rows)
}

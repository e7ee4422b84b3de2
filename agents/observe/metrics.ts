import type { Observation } from '../../topology/snapshot/observation.ts'

/** The agent's metrics in Prometheus' text format; few and flat, so that no library has to live beside every server. */
export function agentMetrics(seen: Observation): string {
  const labels = `{cluster="${seen.cluster}",instance="${seen.instance}"}`
  const { server, stored, converged } = seen
  const values: readonly (readonly [name: string, help: string, value: number | null])[] = [
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
    [
      'regent_agent_semisync_waiting',
      'sessions that wait for an acknowledgement',
      server?.semiSyncSource.waiting ?? null,
    ],
    ['process_resident_memory_bytes', 'of the agent', process.memoryUsage.rss()],
  ]
  return values
    .map(([name, help, value]) =>
      value === null ? '' : `# HELP ${name} ${help}\n# TYPE ${name} gauge\n${name}${labels} ${value}\n`,
    )
    .join('')
}

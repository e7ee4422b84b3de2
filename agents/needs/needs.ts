import { say, type Sentence } from '#common/sentence/sentence.ts'
import type { ModeName } from '#failover/protocol/mode-name.ts'
import type { InstanceName } from '#topology/snapshot/member.ts'
import { agentHost, agentUser, instancesOf, markerRows } from '../instance/accounts.ts'
import { replicationUser } from '../ports/server.ts'

/**
 * Everything on the server itself that an opening, a promise, a demotion, a copy or the next start of mysqld rests
 * upon, and that a hand can take away while all is well. The agent looks at all of it every few seconds and puts it
 * right at once: who finds out at a failover finds out too late. What of the machine they rest upon is in
 * `agents/mysqld/machine-needs.ts`.
 */
export type Need = TableNeed | AccountNeed | PluginNeed | SightNeed

interface Named {
  /** As sentences call it. */
  readonly what: Sentence
  /** What rests upon it, as sentences say so. */
  readonly for: Sentence
}

/**
 * A table of Regent's own schema. The primary makes the table again with the binary log on: what is in there
 * replicates.
 */
export interface TableNeed extends Named {
  readonly kind: 'table'
  readonly table: string
  readonly columns: readonly string[]
  /** At least so many are there from the start. */
  readonly rows: number
}

/** Every server has its own accounts, beside the binary log: locked or not is the gate of a replica at its primary. */
export interface AccountNeed extends Named {
  readonly kind: 'account'
  readonly user: string
  readonly host: string
  /** Columns of `mysql.user` that are `Y`, without `_priv`. */
  readonly columns: readonly string[]
  /** Rows of `mysql.global_grants`. */
  readonly grants: readonly string[]
  /** Whose gate the account is; null for the agent's, which is never locked. */
  readonly gateOf: InstanceName | null
}

/** Loaded at each start, and not to be taken out by UNINSTALL PLUGIN (`failover/settings/managed.ts`). */
interface PluginNeed extends Named {
  readonly kind: 'plugin'
  readonly name: string
}

/** What performance_schema is to tell of. Anybody with UPDATE there may switch that off, until the next start. */
export interface SightNeed extends Named {
  readonly kind: 'sight'
  readonly table: 'setup_instruments' | 'setup_consumers' | 'setup_actors'
  /** As LIKE takes it; of actors the name of the table: all sessions are seen, or some are not. */
  readonly pattern: string
}

const table = (name: string, columns: readonly string[], rows: number, whatFor: Sentence): TableNeed => ({
  kind: 'table',
  what: say`table regent.${name}`,
  for: whatFor,
  table: name,
  columns,
  rows,
})

const tables: readonly TableNeed[] = [
  table('marker', ['id', 'token'], markerRows, say`the proof that replicas hold everything`),
  table('probe', ['id', 'beat'], 1, say`the look whether writes go through`),
  table('account', ['user', 'fingerprint'], 0, say`the gates of replicas`),
]

/** The part of `GRANT ALL … WITH GRANT OPTION` that statements of an agent need. */
const ofAgents = {
  columns: [
    ...['Select', 'Insert', 'Update', 'Delete', 'Create', 'Drop', 'Alter', 'Index', 'Event', 'Reload', 'Shutdown'],
    ...['Process', 'Super', 'Lock_tables', 'Repl_client', 'Repl_slave', 'Create_user', 'Grant'],
  ],
  grants: [
    ...['SYSTEM_USER', 'SYSTEM_VARIABLES_ADMIN', 'SESSION_VARIABLES_ADMIN', 'CONNECTION_ADMIN', 'BACKUP_ADMIN'],
    ...['SERVICE_CONNECTION_ADMIN', 'REPLICATION_SLAVE_ADMIN', 'CLONE_ADMIN', 'GROUP_REPLICATION_ADMIN'],
  ],
  gateOf: null,
}

/** The account of a replication group is watched by `agents/sql/replication/group-account.ts`. */
function accounts(cluster: string): readonly AccountNeed[] {
  const named = (user: string, host: string, whatFor: Sentence) =>
    ({ kind: 'account', what: say`account ${user}@${host}`, for: whatFor, user, host }) as const
  return [
    { ...named(agentUser, 'localhost', say`everything that the agent does`), ...ofAgents },
    { ...named(agentUser, agentHost, say`the agent where connections are exhausted`), ...ofAgents },
    ...instancesOf(cluster).map((instance) => ({
      ...named(replicationUser(instance), '%', say`following, and copying, this instance by ${instance}`),
      columns: ['Repl_slave'],
      grants: ['CONNECTION_ADMIN', 'BACKUP_ADMIN'],
      gateOf: instance,
    })),
  ]
}

function plugins(mode: ModeName): readonly PluginNeed[] {
  const plugin = (name: string, whatFor: Sentence): PluginNeed => ({
    kind: 'plugin',
    what: say`plugin ${name}`,
    for: whatFor,
    name,
  })
  return [
    plugin('caching_sha2_password', say`the login of every account`),
    plugin('clone', say`copies`),
    plugin('rpl_semi_sync_source', say`acknowledgements`),
    plugin('rpl_semi_sync_replica', say`acknowledgements`),
    ...(mode === 'group' ? [plugin('group_replication', say`membership in the group`)] : []),
  ]
}

const sight = (of: 'instrument' | 'consumer', pattern: string, whatFor: Sentence): SightNeed => ({
  kind: 'sight',
  what: of === 'instrument' ? say`instrument ${pattern}` : say`consumer ${pattern}`,
  for: whatFor,
  table: `setup_${of}s`,
  pattern,
})

const sights: readonly SightNeed[] = [
  sight('instrument', 'wait/lock/metadata/sql/mdl', say`finding who holds a lock that a primary needs`),
  sight('instrument', 'transaction', say`the grace of transactions in a switchover`),
  sight('instrument', 'statement/sql/%', say`events that are disabled, and the grace of statements in a switchover`),
  sight('consumer', 'global_instrumentation', say`all that is to be seen of locks and statements`),
  sight('consumer', 'thread_instrumentation', say`the grace of sessions in a switchover`),
  sight('consumer', 'events_statements_current', say`the grace of statements in a switchover`),
  sight('consumer', 'events_transactions_current', say`the grace of transactions in a switchover`),
  {
    kind: 'sight',
    what: say`the sight of all sessions (setup_actors)`,
    for: say`events that are disabled, and the grace of sessions in a switchover`,
    table: 'setup_actors',
    pattern: 'setup_actors',
  },
]

/** In the order in which they are put right: fingerprints of accounts are kept in a table. */
export function needsOf({
  cluster,
  mode,
  far,
}: {
  readonly cluster: string
  readonly mode: ModeName
  readonly far?: object
}): readonly Need[] {
  if (far === undefined) return [...tables, ...accounts(cluster), ...plugins(mode), ...sights]
  // A far agent comes by an account of somebody else's, and nothing is installed there.
  return [...tables, ...accounts(cluster).filter(({ gateOf }) => gateOf !== null)]
}

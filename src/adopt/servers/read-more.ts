import { olderName } from '#agents/sql/dialect/dialect.ts'
import type { ServerFacts } from './seen.ts'
import type { Row, ServerSession } from './session.ts'

/** What only some ask for: the clients of orchestrator’s interface. */
export interface SeenMore {
  readonly uptimeSeconds: number
  readonly versionComment: string
  readonly rowImage: string
  /** `gtid_purged`, as text without white space; '' without GTIDs. */
  readonly purged: string
  readonly encrypted: boolean
  readonly semiSync: {
    readonly isThere: boolean
    /** Commits wait for acknowledgements just now. */
    readonly isOn: boolean
    readonly isReplicaOn: boolean
    readonly acks: number
    readonly clients: number
    /** Sessions that wait for an acknowledgement. */
    readonly waiting: number
    readonly timeoutMs: number
  }
}

const variables = [
  'version_comment',
  'binlog_row_image',
  'gtid_purged',
  'rpl_semi_sync_source_enabled',
  'rpl_semi_sync_replica_enabled',
  'rpl_semi_sync_source_wait_for_replica_count',
  'rpl_semi_sync_source_timeout',
] as const
const status = [
  'Uptime',
  'Rpl_semi_sync_source_status',
  'Rpl_semi_sync_source_clients',
  'Rpl_semi_sync_source_wait_sessions',
  'Rpl_semi_sync_replica_status',
] as const

type Name = (typeof variables)[number] | (typeof status)[number]

/** Both names of each: which one a server knows, the answer tells. */
function show(what: string, names: readonly string[]): string {
  const all = names.flatMap((name) => [...new Set([name, olderOf(name)])]).map((name) => `'${name}'`)
  return `SHOW GLOBAL ${what} WHERE Variable_name IN (${all.join(', ')})`
}

/** MySQL before 8.0.26 counts slaves, too. */
function olderOf(name: string): string {
  return olderName(name).replace('wait_for_replica', 'wait_for_slave')
}

/** Rejects with a `LookFailure`. */
export async function readMore(
  session: ServerSession,
  { dialect, lacks }: ServerFacts,
  deadlineMs: number,
): Promise<SeenMore> {
  const mayAsk = !lacks.includes(dialect.monitor)
  const statements = [show('VARIABLES', variables), show('STATUS', status), ...(mayAsk ? [dialect.showReplica] : [])]
  const [ofVariables = [], ofStatus = [], [channel] = []] = await session.queryAll(statements, deadlineMs)
  const values = new Map(
    [...ofVariables, ...ofStatus].map((row) => [textOf(row, 'Variable_name'), textOf(row, 'Value')]),
  )
  const value = (name: Name): string => values.get(name) ?? values.get(olderOf(name)) ?? ''
  return {
    uptimeSeconds: Number(value('Uptime')),
    versionComment: value('version_comment'),
    rowImage: value('binlog_row_image'),
    purged: value('gtid_purged').replaceAll(/\s/g, ''),
    encrypted: textOf(channel, dialect.oldWords ? 'Master_SSL_Allowed' : 'Source_SSL_Allowed') === 'Yes',
    semiSync: {
      isThere: value('rpl_semi_sync_source_enabled') !== '' && value('rpl_semi_sync_replica_enabled') !== '',
      isOn: value('Rpl_semi_sync_source_status') === 'ON',
      isReplicaOn: value('Rpl_semi_sync_replica_status') === 'ON',
      acks: Number(value('rpl_semi_sync_source_wait_for_replica_count')),
      clients: Number(value('Rpl_semi_sync_source_clients')),
      waiting: Number(value('Rpl_semi_sync_source_wait_sessions')),
      timeoutMs: Number(value('rpl_semi_sync_source_timeout')),
    },
  }
}

function textOf(row: Row | undefined, name: string): string {
  const value = row?.[name]
  return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
}

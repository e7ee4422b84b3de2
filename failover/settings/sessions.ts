import { within, type Setting, type Values } from './setting.ts'

const ofClients = 'a default of the sessions of clients; sessions of agents set their own'

/** Free: whatever people set for everybody must not change what the statements of agents do. */
const binding = (name: string, worst: string, session: string): Setting => ({
  name,
  kind: 'free',
  reason: ofClients,
  bindsAgents: { worst, session },
})

const exempt = (name: string, worst: string, why: string): Setting => ({
  name,
  kind: 'free',
  reason: `agents are not bound: ${why}`,
  bindsAgents: { worst, exempt: why },
})

/**
 * A replica that connects asks its source for some values, one row each, and sets nothing for its session (seen on
 * 9.7: with a limit of 0 rows it never connects). So these are put right while the server runs.
 */
const bindingReplicas = (
  name: string,
  { worst, to, only }: { readonly worst: string; readonly to: string; readonly only: Values },
): Setting => ({
  ...within(name, only, 'a replica that connects reads some values, and sets nothing for its session'),
  watched: { to },
  bindsAgents: { worst, session: `${name} = ${to}` },
})

export const bindingAgents: readonly Setting[] = [
  bindingReplicas('sql_select_limit', { worst: '0', to: '18446744073709551615', only: { atLeast: 1 } }),
  bindingReplicas('max_execution_time', {
    worst: '1',
    to: '0',
    only: { like: /^0$|^[1-9]\d{2,}$/, words: '0, or 100 milliseconds or more' },
  }),
  // The statement that sets them all begins with the names of character sets.
  binding('character_set_server', 'latin1', 'NAMES utf8mb4 COLLATE utf8mb4_0900_ai_ci'),
  binding('autocommit', 'OFF', 'SESSION autocommit = 1'),
  binding('completion_type', 'RELEASE', "completion_type = 'NO_CHAIN'"),
  binding('transaction_isolation', 'SERIALIZABLE', "transaction_isolation = 'REPEATABLE-READ'"),
  binding('lock_wait_timeout', '1', 'lock_wait_timeout = 31536000'),
  binding('innodb_lock_wait_timeout', '1073741824', 'innodb_lock_wait_timeout = 1'),
  binding('wait_timeout', '1', 'wait_timeout = 31536000'),
  binding('net_read_timeout', '1', 'net_read_timeout = 30'),
  binding('net_write_timeout', '1', 'net_write_timeout = 60'),
  {
    ...within(
      'sql_mode',
      { like: /^(?!.*PAD_CHAR_TO_FULL_LENGTH)/i, words: 'any list without PAD_CHAR_TO_FULL_LENGTH' },
      'under that mode a group neither opens the primary that it elects nor takes a member in',
    ),
    watched: { without: 'PAD_CHAR_TO_FULL_LENGTH', mode: 'group' },
    bindsAgents: {
      worst: 'ANSI,NO_BACKSLASH_ESCAPES,PAD_CHAR_TO_FULL_LENGTH,HIGH_NOT_PRECEDENCE,TRADITIONAL',
      session: "sql_mode = ''",
    },
  },
  binding('sql_safe_updates', 'ON', 'sql_safe_updates = 0'),
  binding('max_join_size', '1', 'max_join_size = 18446744073709551615'),
  binding('sql_big_selects', 'OFF', 'sql_big_selects = 1'),
  binding('sql_auto_is_null', 'ON', 'sql_auto_is_null = 0'),
  binding('sql_require_primary_key', 'ON', 'sql_require_primary_key = 0'),
  binding('default_tmp_storage_engine', 'MEMORY', 'default_tmp_storage_engine = InnoDB'),
  binding('default_table_encryption', 'ON', 'default_table_encryption = 0'),
  binding('time_zone', '+14:00', "time_zone = '+00:00'"),
  binding('lc_messages', 'ja_JP', "lc_messages = 'en_US'"),
  binding('terminology_use_previous', 'BEFORE_8_0_26', 'terminology_use_previous = NONE'),
  // Tables and grants are read as one list each.
  binding('group_concat_max_len', '4', 'group_concat_max_len = 1048576'),
  // The folder of a copy is named in it.
  binding('character_set_filesystem', 'utf16', "character_set_filesystem = 'binary'"),
  binding('session_track_gtids', 'ALL_GTIDS', 'session_track_gtids = OFF'),
  exempt('interactive_timeout', '1', 'no session of theirs is interactive'),
  exempt('init_connect', 'no statement', 'CONNECTION_ADMIN'),
  exempt('max_connect_errors', '1', 'no name is looked up, and so no host counted'),
  exempt('authentication_policy', 'sha256_password,,', 'AUTHENTICATION_POLICY_ADMIN'),
  exempt('connection_memory_limit', '2097152', 'CONNECTION_ADMIN'),
]

import { renderServerConfig } from '../mysqld/my-cnf.ts'
import type { AgentConfig } from '../instance/config.ts'
import { relayLogName } from '../ports/throw-away.ts'
import { throwAwayLayout } from './layout.ts'

/** Any: nobody connects to it, and it connects to nobody. */
const serverId = 1

/**
 * The content of its `my.cnf`: that of the instance's own mysqld, since the data dictionary must fit, and what is
 * another here. The last word counts.
 *
 * @param folder its data
 */
export function throwAwayConfig(config: AgentConfig, folder: string, accountsFile: string): string {
  const layout = throwAwayLayout(config.volume)
  const others: Readonly<Record<string, string>> = {
    datadir: folder,
    socket: layout.socket,
    pid_file: layout.serverPidFile,
    log_error: layout.errorLog,
    init_file: accountsFile,
    // Nobody reaches it but by its socket, in a folder of the agent's.
    skip_networking: 'ON',
    create_admin_listener_thread: 'OFF',
    // What it applies is told in its tables: a server that starts on the data later takes that as purged.
    disable_log_bin: '1',
    log_replica_updates: 'OFF',
    // The applier passes over nothing, whoever wrote that.
    replicate_same_server_id: 'ON',
    relay_log: relayLogName,
    // A copy that dies is thrown away: only its end has to be on the disk, and an end in order is.
    innodb_flush_log_at_trx_commit: '2',
    innodb_doublewrite: 'OFF',
    innodb_fast_shutdown: '1',
    innodb_buffer_pool_size: '268435456',
    innodb_buffer_pool_dump_at_shutdown: 'OFF',
    innodb_buffer_pool_load_at_startup: 'OFF',
    general_log: 'OFF',
    slow_query_log: 'OFF',
    // Its own account writes; the applier does in any case.
    super_read_only: 'OFF',
  }
  const lines = Object.entries(others).map(([name, value]) => `${name}=${value}`)
  return `${renderServerConfig(config, serverId)}\n${lines.join('\n')}\n`
}

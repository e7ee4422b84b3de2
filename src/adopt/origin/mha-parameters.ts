/**
 * What a parameter of MHA (`masterha_manager` 0.58) is here. `taken` names the key of the adoption file; `instead` says
 * what does its work, and `none` why there is no counterpart.
 */
export type MhaMeaning = { readonly taken: string } | { readonly instead: string } | { readonly none: string }

const onceManaged = 'they run once the cluster is managed'

export const mhaParameters: Readonly<Record<string, MhaMeaning>> = {
  hostname: { taken: 'hosts.host' },
  ip: { taken: 'hosts.alsoKnownAs; hosts.host where there is no hostname' },
  port: { taken: 'hosts.port' },
  user: { taken: 'mysql.user' },
  password: { taken: 'mysql.passwordFile' },
  repl_user: { taken: 'replication.user' },
  repl_password: { taken: 'replication.passwordFile' },
  ssh_user: { taken: 'ssh.user' },
  ssh_port: { taken: 'ssh.port' },
  ssh_options: {
    taken:
      'ssh.keyFile of "-i <file>", ssh.knownHostsFile of "-o UserKnownHostsFile=<file>"; other options are not taken',
  },
  ssh_host: { none: 'a server is reached by SSH where MySQL is reached' },
  ssh_ip: { none: 'a server is reached by SSH where MySQL is reached' },
  candidate_master: { taken: 'hosts.promotion: prefer; the server leads before others that hold as much' },
  no_master: { taken: 'hosts.promotion: never' },
  check_repl_delay: {
    instead:
      'in mode async whoever lacks least leads, however far the SQL thread is behind, and first gets what another has',
  },
  latest_priority: { instead: 'in mode async the most advanced leads, whatever is preferred' },
  ignore_fail: { instead: 'a server that does not answer never holds up the others' },
  check_repl_filter: { instead: 'a server with a replication filter never leads' },
  multi_tier_slave: { instead: 'cascades are always taken as they are' },
  ping_interval: { instead: 'each server is looked at once a second' },
  ping_type: { instead: 'a look reads the whole state of replication' },
  secondary_check_script: { instead: 'replicas testify whether they have lost their source, too' },
  ssh_connection_timeout: { instead: 'every wait has a deadline of its own' },
  skip_reset_slave: { none: 'a new primary never keeps a channel' },
  use_gtid_auto_pos: { instead: 'GTIDs are taken where all servers have them' },
  handle_raw_binlog: { none: 'binlogs are read as they are' },
  master_binlog_dir: { instead: 'the server itself says where its binlogs are (log_bin_basename)' },
  master_pid_file: { instead: 'the process is found by its data directory' },
  client_bindir: { none: 'no program of MySQL is called on a host' },
  client_libdir: { none: 'no program of MySQL is called on a host' },
  remote_workdir: { none: 'nothing is installed on a host' },
  manager_workdir: { instead: 'what is adopted lies in the state folder of Regent' },
  manager_log: { instead: 'the log is manager.log beside what is adopted' },
  log_level: { none: 'the log has what changed' },
  disable_log_bin: { none: 'nothing that is applied is kept from the binlog' },
  skip_init_ssh_check: { none: 'SSH is checked when it is needed' },
  use_ip_for_change_master: { instead: 'a source is named as the adoption file names it' },
  running_updates_limit: { instead: 'a switchover gives running statements a grace' },
  init_conf_load_script: { none: 'passwords stand in files that their owner alone can read' },
  master_ip_failover_script: {
    taken: `hooks.beforeFailover (--command=stop), hooks.afterFailover and hooks.failed (--command=start); ${onceManaged}`,
  },
  master_ip_online_change_script: {
    taken: `hooks.beforeSwitchover (--command=stop) and hooks.afterSwitchover (--command=start); ${onceManaged}`,
  },
  shutdown_script: {
    taken:
      'hooks.powerOff (--command=stop), where failover.acceptLoss lets another server lead; a host that SSH reaches keeps its power, and its binlogs are read',
  },
  report_script: { taken: `hooks.afterFailover and hooks.failed; ${onceManaged}` },
}

/** What is never printed. */
export const secretParameters: ReadonlySet<string> = new Set(['password', 'repl_password'])

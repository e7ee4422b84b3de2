export interface MhaConfig {
  readonly hosts: readonly string[]
  readonly pingSeconds: number
  readonly account: { readonly user: string; readonly password: string }
  readonly replication: { readonly user: string; readonly password: string }
  /** For SSH to every host, as this user. */
  readonly ssh: { readonly user: string; readonly keyFile: string; readonly knownHostsFile: string }
  readonly workFolder: string
  readonly logFile: string
  readonly ipScript: string
}

/**
 * What MHA's manager reads. With GTIDs it asks a dead master for nothing. It would where the master were named as a
 * binlog server too; then MHA 0.58 has MySQL 5.6 tell its `super_read_only`, which that has not, and gives up.
 */
export function mhaConfig(config: MhaConfig): string {
  const { hosts, pingSeconds, account, replication, ssh } = config
  return [
    section('server default', {
      user: account.user,
      password: account.password,
      repl_user: replication.user,
      repl_password: replication.password,
      ssh_user: ssh.user,
      ssh_options: `-F /dev/null -i ${ssh.keyFile} -o UserKnownHostsFile=${ssh.knownHostsFile}`,
      ping_interval: String(pingSeconds),
      manager_workdir: config.workFolder,
      manager_log: config.logFile,
      master_ip_failover_script: config.ipScript,
    }),
    ...hosts.map((host, at) => section(`server${at + 1}`, { hostname: host })),
  ].join('\n')
}

function section(name: string, lines: Readonly<Record<string, string>>): string {
  return `[${name}]\n${Object.entries(lines)
    .map(([key, value]) => `${key}=${value}\n`)
    .join('')}`
}

/**
 * A `master_ip_failover_script`: once MHA says `start`, clients find the new master in the file `routes`, which is
 * replaced as a whole. Other commands change nothing.
 */
export function routeScript(routes: string): string {
  return `#!/bin/sh
for word in "$@"; do
  case $word in
  --command=*) command=\${word#*=} ;;
  --new_master_ip=*) host=\${word#*=} ;;
  --new_master_port=*) port=\${word#*=} ;;
  esac
done
[ "$command" = start ] || exit 0
printf '{"primary":{"host":"%s","port":%s}}\\n' "$host" "$port" >'${routes}.new' && mv '${routes}.new' '${routes}'
`
}

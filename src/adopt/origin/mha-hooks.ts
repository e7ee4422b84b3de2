import type { Hook, Hooks } from '#failover/protocol/hook.ts'
import type { HookMoment } from '#failover/protocol/hook-moments.ts'
import { strangerIn } from '#failover/protocol/hook-words.ts'

/** Scripts of MHA that become hooks. */
export const hookParameters = [
  'master_ip_failover_script',
  'master_ip_online_change_script',
  'shutdown_script',
  'report_script',
] as const

type Script = (typeof hookParameters)[number]

/** Undefined where a line becomes a hook; otherwise why not. */
export function whyNoHook(section: string, value: string): string | undefined {
  if (section !== 'serverdefault') return 'only a script below [server default] becomes a hook; write a hook by hand'
  const stranger = strangerIn(value)
  return stranger && `a hook would take ${stranger.found} for a placeholder; write a hook by hand`
}

const orig =
  '--orig_master_host="$REGENT_FAILED_HOST" --orig_master_ip="$REGENT_FAILED_HOST" --orig_master_port="$REGENT_FAILED_PORT"'
const next =
  '--new_master_host="$REGENT_SUCCESSOR_HOST" --new_master_ip="$REGENT_SUCCESSOR_HOST" --new_master_port="$REGENT_SUCCESSOR_PORT"'
/** The old primary goes on. */
const same = next.replaceAll('SUCCESSOR', 'FAILED')
/** MHA takes this code for success. */
const orTen = '|| test $? = 10'
/** Nothing waits for these. MHA waits for its scripts without an end. */
const patient = { timeoutMs: 60_000 }

/** What MHA would call, called at the same moments. Passwords are given to no script. */
export function hooksOfMha(values: Readonly<Record<string, string>>, file: string): Hooks | undefined {
  const script = (name: Script): string | undefined => {
    const value = values[name]?.trim() ?? ''
    return value === '' || whyNoHook('serverdefault', value) !== undefined ? undefined : value
  }
  const user = quoted(values['ssh_user'] ?? 'root')
  const lists: Partial<Record<HookMoment, Hook[]>> = {}
  const add = (moment: HookMoment, hook: Hook) => (lists[moment] = [...(lists[moment] ?? []), hook])
  const failover = script('master_ip_failover_script')
  const change = script('master_ip_online_change_script')
  const shutdown = script('shutdown_script')
  const report = script('report_script')
  if (failover !== undefined) {
    // Asked for its status a script moves nothing: so MHA tries it, too.
    const does = (command: string) =>
      `${failover} --command=$(test "$REGENT_TEST" = true && echo status || echo ${command}) --ssh_user=${user} ${orig}`
    add('beforeFailover', { shell: `${does('stop')} ${orTen}` })
    add('afterFailover', { shell: `${does('start')} ${next} ${orTen}`, ...patient })
    add('failed', { shell: `${does('start')} ${same} ${orTen}`, ...patient })
  }
  if (change !== undefined) {
    const users = `--orig_master_ssh_user=${user} --new_master_ssh_user=${user}`
    const does = (command: string, to: string) =>
      `test "$REGENT_TEST" = true || ${change} --command=${command} ${orig} ${to} ${users} ${orTen}`
    add('beforeSwitchover', { shell: does('stop', next) })
    add('afterSwitchover', { shell: does('start', next), ...patient })
    if (failover === undefined) add('failed', { shell: does('start', same), ...patient })
  }
  if (shutdown !== undefined) {
    // MHA's other command goes over SSH, and this moment is that of a host which nobody reaches.
    const does = '--command=$(test "$REGENT_TEST" = true && echo status || echo stop)'
    add('powerOff', {
      shell: `${shutdown} ${does} --host="$REGENT_FAILED_HOST" --ip="$REGENT_FAILED_HOST"`,
      ...patient,
    })
  }
  if (report !== undefined) {
    const words = `--subject="$REGENT_TEXT" --body="$REGENT_TEXT"`
    const hosts = '--new_master_host="$REGENT_SUCCESSOR_HOST" --new_slave_hosts="$REGENT_REPLICAS"'
    const shell = `${report} --orig_master_host="$REGENT_FAILED_HOST" ${hosts} --conf=${quoted(file)} ${words}`
    for (const moment of ['afterFailover', 'failed'] as const) add(moment, { shell, ...patient })
  }
  return Object.keys(lists).length === 0 ? undefined : lists
}

function quoted(text: string): string {
  return /^[\w./@-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`
}

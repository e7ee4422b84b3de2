import { hostPort } from '#common/text/host-port.ts'
import { nowhere, readSlots } from './haproxy-state.ts'
import type { RouterSettings } from '#failover/protocol/router-settings.ts'

export interface RouterFiles {
  readonly config: string
  readonly script: string
  readonly socket: string
}

export interface RouterAddress {
  /** An address of each family that the machine has. */
  readonly hosts: readonly string[]
  readonly writePort: number
  readonly readPort: number
}

/** A file of the process, beside its standard output: HAProxy closes its output where it is told to be quiet (`-q`). */
const logFd = 3
/**
 * The line of one session, in the shape of the router's own lines. HAProxy writes the line once a server has accepted,
 * or at the end of a session that never had a server. `state` is HAProxy's `%ts`.
 */
const sessionLine = [
  ...['"level":"info"', '"time":"%[date,utime(%Y-%m-%dT%H:%M:%SZ)]"', '"name":"haproxy"'],
  ...['"client":"%ci:%cp"', '"at":"%f"', '"server":"%si:%sp"', '"as":"%bi:%bp"', '"state":"%ts"'],
  '"msg":"session of client %ci:%cp at %f: server %si:%sp, which sees %bi:%bp"',
].join(',')

/** Longer than any session that MySQL leaves alone (`wait_timeout`, 8 hours by default). */
const idleTime = '9h'

/**
 * HAProxy's configuration. All servers begin closed: the router opens them by the runtime socket. A new session waits
 * in `wait_*` while nothing is open. After that `refuse_*` refuses the session in MySQL's own words. The keepalive is
 * set, since the kernel's own finds out after two hours that a machine has lost its power. After a refusal HAProxy
 * waits `timeout connect` before the next try. Where no answer came, HAProxy begins the next try after that time.
 */
export function haproxyConfig(
  files: RouterFiles,
  { hosts, writePort, readPort }: RouterAddress,
  { waitMs, connectMs, maxConnections, logSessions }: Omit<RouterSettings, 'drainMs' | 'reads'>,
): string {
  const binds = (port: number): string => hosts.map((host) => `  bind ${hostPort(host, port)}`).join('\n')
  const closed = `${nowhere.host}:${nowhere.port} disabled weight 100`
  const logs = logSessions
    ? `  log fd@${logFd} format raw local0 info\n  option logasap\n  log-format '{${sessionLine}}'\n`
    : ''
  const slots = Array.from({ length: readSlots }, (_, at) => `  server r${at} ${closed}`)
  return `global
  stats socket ${files.socket} mode 600 level admin
  lua-load ${files.script}
  maxconn ${maxConnections * 2}
  nbthread 2

defaults
  mode tcp
  maxconn ${maxConnections}
  timeout connect ${connectMs}ms
  timeout client ${idleTime}
  timeout server ${idleTime}
  retries ${Math.max(1, Math.ceil(waitMs / connectMs))}
  option redispatch 1
  option clitcpka
  clitcpka-idle 60s
  clitcpka-intvl 15s
  clitcpka-cnt 4
  option srvtcpka
  srvtcpka-idle 15s
  srvtcpka-intvl 5s
  srvtcpka-cnt 3

frontend writes
${binds(writePort)}
${logs}  tcp-request inspect-delay ${waitMs + 60_000}ms
  tcp-request content lua.wait_write if !{ nbsrv(gate) ge 1 }
  tcp-request content use-service lua.refuse_write if !{ nbsrv(gate) ge 1 }
  default_backend primary

frontend reading
${binds(readPort)}
${logs}  tcp-request inspect-delay ${waitMs + 60_000}ms
  tcp-request content lua.wait_read if !{ nbsrv(reads) ge 1 }
  tcp-request content use-service lua.refuse_read if !{ nbsrv(reads) ge 1 }
  default_backend reads

backend gate
  server open ${closed}

backend primary
  server primary ${nowhere.host}:${nowhere.port} weight 100

backend reads
  balance leastconn
${slots.join('\n')}
`
}

/** The code of MySQL that says "try again later" before a login: too many connections. */
const tryLater = 1040

/**
 * Looks of all waiting sessions in a millisecond. HAProxy has one lock for all of Lua, which keeps the commands of the
 * router waiting, too.
 */
const looksInMs = 50

/** The Lua of `wait_*` and `refuse_*`. A clock counts the time: a sleep takes longer than it says. */
export function haproxyScript(cluster: string, waitMs: number): string {
  const after = `after ${waitMs / 1_000} s; try again, or ask "regent explain ${cluster}"`
  return `local function since(from)
  local now = core.now()
  return (now.sec - from.sec) * 1000 + (now.usec - from.usec) / 1000
end

local function waiting(backend)
  return function(txn)
    local from = core.now()
    while tonumber(txn.f:nbsrv(backend)) < 1 and since(from) < ${waitMs} do
      core.msleep(math.max(5, tonumber(txn.f:fe_conn()) // ${looksInMs}))
    end
  end
end

local function refusing(words)
  local body = string.char(0xff, ${tryLater % 256}, ${Math.floor(tryLater / 256)}) .. words
  local packet = string.char(#body % 256, math.floor(#body / 256), 0, 0) .. body
  return function(applet) applet:send(packet) end
end

core.register_action('wait_write', { 'tcp-req' }, waiting('gate'))
core.register_action('wait_read', { 'tcp-req' }, waiting('reads'))
core.register_service('refuse_write', 'tcp', refusing(${luaText(`Regent: no primary of ${cluster} takes writes, ${after}`)}))
core.register_service('refuse_read', 'tcp', refusing(${luaText(`Regent: no server of ${cluster} may be read, ${after}`)}))
`
}

function luaText(text: string): string {
  return `'${text.replaceAll(/['\\]/g, '\\$&')}'`
}

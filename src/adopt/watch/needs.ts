import type { ExplainView } from '#api-contract/explain-view.ts'
import { mostInstances } from '#topology/snapshot/member.ts'
import { hostsOf, type Adoption } from '../adoption.ts'
import { addressText } from '../host-address.ts'
import type { SeenServer } from '../servers/seen.ts'
import { channelOf } from './links.ts'
import { answers, type AnsweredLook, type Look } from './look.ts'
import { findPrimary } from './primary.ts'
import { treeOf } from './links.ts'

/** What is to be done about one need: statements for MySQL, lines of my.cnf and a restart, or the adoption file. */
export interface Need {
  /** Empty: the whole cluster. */
  readonly instances: readonly string[]
  readonly why: string
  readonly sql: readonly string[]
  /** Lines of `[mysqld]`, which take effect at a start. */
  readonly settings: readonly string[]
}

/** A replica that hears nothing for so long connects anew: until then it is no witness. */
const netTimeoutSeconds = 4

/** Everything that stands between these servers and being managed, in the order in which people would do it. */
export function needsFor(adoption: Adoption, looks: readonly Look[]): readonly Need[] {
  const primary = findPrimary(treeOf(adoption.cluster, looks), looks, null)
  const answering = looks.filter(answers)
  return together([
    ...answering.flatMap((look) => needsOfServer(look, looks)),
    ...sameIds(answering),
    ...gtidNeeds(answering, looks),
    ...answering.filter((look) => look !== primary).flatMap((look) => needsOfReplica(look, looks)),
    ...needsOfFile(adoption),
  ])
}

/** What several servers need in the same words is said once. */
function together(needs: readonly Need[]): readonly Need[] {
  const groups = Map.groupBy(needs, ({ instances, ...same }) => JSON.stringify([instances.length === 0, same]))
  return [...groups.values()].map((same) => ({
    ...(same[0] ?? need(null, '')),
    instances: same.flatMap(({ instances }) => instances),
  }))
}

/** As `regent explain` shows them. */
export function needsOf(adoption: Adoption, looks: readonly Look[]): NonNullable<ExplainView['watched']> {
  return {
    missing: needsFor(adoption, looks).flatMap(linesOf),
    servers: looks.map(({ host, server }) => `${host.instance} at ${addressText(host)}: ${describeDialect(server)}`),
  }
}

/** The need in one line, and below it what to type. */
export function linesOf({ instances, why, sql, settings }: Need): readonly string[] {
  const where = settings.length === 0 ? [] : [`  in [mysqld] of my.cnf, then a restart: ${settings.join(', ')}`]
  return [
    `${instances.length === 0 ? '' : `${instances.join(', ')}: `}${why}`,
    ...sql.map((line) => `  ${line};`),
    ...where,
  ]
}

export function describeDialect(server: SeenServer | null): string {
  if (server === null) return 'was never seen'
  const { name, tried, onlyWatched } = server.dialect
  const notes = [
    ...(tried ? [] : ['not tried on a real server, only by the documented grammar']),
    ...(onlyWatched === '' ? [] : [`only watched: ${onlyWatched}`]),
  ]
  return [`${server.version}, spoken to as ${name}`, ...notes].join('; ')
}

function need(instance: string | null, why: string, more: Partial<Need> = {}): Need {
  return { instances: instance === null ? [] : [instance], why, sql: [], settings: [], ...more }
}

function needsOfServer(
  { host: { instance, host, mysql }, server }: AnsweredLook,
  looks: readonly Look[],
): readonly Need[] {
  const { dialect, lacks } = server
  const user = `'${mysql.user}'`
  const updates = dialect.oldWords ? 'log_slave_updates' : 'log_replica_updates'
  return [
    ...(dialect.onlyWatched === '' ? [] : [need(instance, `it is ${server.version}: ${dialect.onlyWatched}`)]),
    ...(lacks.length === 0
      ? []
      : [
          need(instance, `account ${mysql.user} lacks ${lacks.join(', ')}`, {
            sql: [`GRANT ${lacks.join(', ')} ON *.* TO ${user}`],
          }),
        ]),
    ...(server.logBin
      ? []
      : [need(instance, 'it writes no binlog, so nobody could follow it', { settings: ['log_bin = binlog'] })]),
    ...(server.logReplicaUpdates || !server.logBin
      ? []
      : [
          need(instance, 'it does not log what it replicates, so it could not lead', { settings: [`${updates} = ON`] }),
        ]),
    ...(server.reportHost === '' && looks.length > 1
      ? [
          need(instance, 'report_host is not set, so its source does not know its name', {
            settings: [`report_host = ${host}`],
          }),
        ]
      : []),
  ]
}

function sameIds(answering: readonly AnsweredLook[]): readonly Need[] {
  return answering.flatMap((look, at) => {
    const twin = answering.slice(0, at).find(({ server }) => server.serverId === look.server.serverId)
    if (twin === undefined) return []
    const free = Math.max(...answering.map(({ server }) => server.serverId)) + at
    return [
      need(look.host.instance, `its server_id is ${look.server.serverId}, as that of ${twin.host.instance}`, {
        ...{ sql: [`SET GLOBAL server_id = ${free}`], settings: [`server_id = ${free}`] },
      }),
    ]
  })
}

/** Step by step on all servers: a step begins where the one before is done everywhere. */
function gtidNeeds(answering: readonly AnsweredLook[], looks: readonly Look[]): readonly Need[] {
  const without = answering.filter(({ server }) => server.dialect.executed !== null && server.gtidMode !== 'ON')
  if (without.length === 0) return []
  const names = without.map(({ host }) => host.instance).join(', ')
  const steps = without[0]?.server.dialect.gtidSteps ?? []
  const settings = ['gtid_mode = ON', 'enforce_gtid_consistency = ON']
  if (steps.length === 0)
    return [need(null, `GTIDs are off on ${names}; this version takes them at a start only`, { settings })]
  const replicas = answering.flatMap((look) => {
    const channel = channelOf(look, looks)
    const { words } = look.server.dialect
    const position = words.replica === 'SLAVE' ? 'MASTER_AUTO_POSITION' : 'SOURCE_AUTO_POSITION'
    return channel === undefined || channel.autoPosition
      ? []
      : [
          `-- on ${look.host.instance}: STOP ${words.replica}; ${words.changeSource} ${position} = 1; START ${words.replica}`,
        ]
  })
  return [
    need(null, `GTIDs are off on ${names}: each line on every server, before the next line anywhere`, {
      ...{ sql: [...steps, ...replicas], settings },
    }),
  ]
}

function needsOfReplica(look: AnsweredLook, looks: readonly Look[]): readonly Need[] {
  const { server, host } = look
  const timeout = server.dialect.oldWords ? 'slave_net_timeout' : 'replica_net_timeout'
  const closes = server.dialect.superReadOnly ? 'super_read_only' : 'read_only'
  const channel = channelOf(look, looks)
  const filter = need(host.instance, 'it replicates only a part: take the replication filter away, or promotion: never')
  return [
    ...(server.readOnly
      ? []
      : [need(host.instance, 'it takes writes beside the primary', { sql: [`SET GLOBAL ${closes} = ON`] })]),
    ...(channel?.filtered === true ? [filter] : []),
    ...(server.netTimeoutSeconds <= netTimeoutSeconds
      ? []
      : [
          need(host.instance, `it notices a silent source after ${server.netTimeoutSeconds} s only`, {
            ...{
              sql: [`SET GLOBAL ${timeout} = ${netTimeoutSeconds}`],
              settings: [`${timeout} = ${netTimeoutSeconds}`],
            },
          }),
        ]),
  ]
}

function needsOfFile(adoption: Adoption): readonly Need[] {
  const hosts = hostsOf(adoption)
  const without = (what: 'ssh' | 'replication') =>
    hosts.filter((host) => host[what] === undefined).map(({ instance }) => instance)
  const lines = [
    { what: 'replication', names: without('replication'), why: 'nobody knows by which account a replica logs in' },
    {
      what: 'ssh',
      names: without('ssh'),
      why: 'the binlog of a dead primary cannot be read, and mysqld not be started',
    },
  ] as const
  const lacking = lines
    .filter(({ names }) => names.length > 0)
    .map(({ what, names, why }) => need(null, `the adoption file has no ${what} for ${names.join(', ')}: ${why}`))
  const tooMany = `the adoption file names ${hosts.length} servers: ${mostInstances} may be managed as one cluster`
  return [...(hosts.length > mostInstances ? [need(null, tooMany)] : []), ...lacking]
}

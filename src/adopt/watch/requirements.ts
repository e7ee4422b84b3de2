import { olderName } from '#agents/sql/dialect/dialect.ts'
import { abbreviated } from '#common/text/words.ts'
import { mostInstances } from '#topology/snapshot/member.ts'
import type { Adoption } from '../adoption.ts'
import { heldRights } from '../servers/held-rights.ts'
import type { SeenServer } from '../servers/seen.ts'
import { channelOf } from './links.ts'
import { answers, type AnsweredLook, type Look } from './look.ts'
import { follows, reachInFull, takesWrites } from './primary.ts'

/** What requirements are asked of. */
interface Asked {
  readonly adoption: Adoption
  readonly looks: readonly Look[]
  readonly answering: readonly AnsweredLook[]
  readonly primary: Look | undefined
}

/** What is not as managing needs it, and what a person does about that. */
export interface Lack {
  readonly why: string
  readonly sql?: readonly string[]
  /** Lines of `[mysqld]`; without SQL beside them a restart is needed. */
  readonly settings?: readonly string[]
  /** What the adoption file is to say. */
  readonly file?: string
}

/** Null: the whole cluster. */
export type Lacking = readonly [instance: string | null, lack: Lack]

export interface Requirement {
  readonly name: string
  readonly lacking: (all: Asked) => readonly Lacking[]
}

/** Rows that are asked of each of these. */
function askedOf<Subject>(subjects: (all: Asked) => readonly (readonly [string | null, Subject])[]) {
  return (name: string, lackOf: (subject: Subject, all: Asked) => Lack | undefined): Requirement => ({
    name,
    lacking: (all) =>
      subjects(all).flatMap(([instance, subject]) => {
        const lack = lackOf(subject, all)
        return lack === undefined ? [] : [[instance, lack] as const]
      }),
  })
}

const named = <Of extends Look>(look: Of) => [look.host.instance, look] as const

const cluster = askedOf(() => [[null, undefined]])
const each = askedOf(({ looks }) => looks.map(named))
const server = askedOf(({ answering }) => answering.map(named))
const replica = askedOf(({ answering, primary }) =>
  primary === undefined ? [] : answering.filter((look) => look !== primary).map(named),
)

/** What the statements of an agent need. */
const privileges = [
  ...['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'CREATE', 'DROP', 'ALTER', 'INDEX', 'EVENT', 'RELOAD', 'PROCESS'],
  ...['SUPER', 'SHUTDOWN', 'LOCK TABLES', 'REPLICATION CLIENT', 'REPLICATION SLAVE', 'CREATE USER'],
  ...['BACKUP_ADMIN', 'CLONE_ADMIN', 'CONNECTION_ADMIN', 'PERSIST_RO_VARIABLES_ADMIN', 'REPLICATION_SLAVE_ADMIN'],
  ...['SESSION_VARIABLES_ADMIN', 'SYSTEM_USER', 'SYSTEM_VARIABLES_ADMIN'],
]
/** More names of privileges are counted: the statement gives all of them. */
const namesTold = 4

/**
 * What must be so before servers can be managed, in the order in which people bring that about. A manager that watches
 * tells what is not so, and `manage` refuses just that.
 */
export const requirements: readonly Requirement[] = [
  cluster('few servers', (_, { adoption: { hosts } }) => {
    if (hosts.length <= mostInstances) return undefined
    return { why: `the adoption file names ${hosts.length} servers: ${mostInstances} may be managed as one cluster` }
  }),
  each('SSH, or mode async', ({ host }, { adoption: { mode } }) => {
    if (mode === 'async' || host.ssh !== undefined) return undefined
    const why = `mode ${mode} needs SSH to it; in mode async SQL alone will do`
    return { why, file: 'ssh: { user: mysql, keyFile: …, knownHostsFile: … }' }
  }),
  each('an answer', (look) => (answers(look) ? undefined : { why: String(reachInFull(look)) })),
  server('a version that can be managed', ({ server: { version, dialect } }) =>
    dialect.onlyWatched === '' ? undefined : { why: `it is ${version}: ${dialect.onlyWatched}` },
  ),
  server('all privileges', lackOfPrivileges),
  server('no manager of MHA', ({ server: { mhaWatches } }) => {
    const why = 'MHA’s manager watches it, and two managers elect two primaries: stop MHA’s first, by masterha_stop'
    return mhaWatches ? { why } : undefined
  }),
  server('a binlog', ({ server: { logBin } }) => {
    return logBin
      ? undefined
      : { why: 'it writes no binlog, so nobody could follow it', settings: ['log_bin = binlog'] }
  }),
  server('a binlog of what is replicated', ({ server }) => {
    if (server.logReplicaUpdates || !server.logBin) return undefined
    const why = 'it does not log what it replicates, so it could not lead'
    return { why, settings: [`${wordIn(server, 'log_replica_updates')} = ON`] }
  }),
  server('a binlog of rows', ({ server: { binlogFormat } }) =>
    binlogFormat === 'ROW'
      ? undefined
      : { why: `its binlog_format is ${binlogFormat}`, ...setting('binlog_format', 'ROW') },
  ),
  server('persisted settings that are loaded', ({ server: { loadsPersisted } }) => {
    const why = 'its persisted_globals_load is OFF, so a start would find it open'
    return loadsPersisted ? undefined : { why, settings: ['persisted_globals_load = ON'] }
  }),
  server('a server_id of its own', (look, all) => {
    const { serverId } = look.server
    const twin = twinOf(look, all, (other) => other.serverId === serverId)
    const free = Math.max(...all.answering.map((one) => one.server.serverId)) + all.answering.indexOf(look)
    const why = `its server_id is ${serverId}, as that of ${twin}`
    return twin === undefined ? undefined : { why, ...setting('server_id', String(free)) }
  }),
  server('a server_uuid of its own', (look, all) => {
    const { uuid } = look.server
    const twin = twinOf(look, all, (other) => uuid !== '' && other.uuid === uuid)
    const why = `its server_uuid is that of ${twin}: remove auto.cnf from its data folder, then restart mysqld`
    return twin === undefined ? undefined : { why }
  }),
  cluster('GTIDs', lackOfGtids),
  // Before another one is opened.
  replica('replicas that are closed', ({ server: { readOnly, dialect } }) => {
    const closing = setting(dialect.superReadOnly ? 'super_read_only' : 'read_only', 'ON')
    return readOnly ? undefined : { why: 'it takes writes beside the primary', ...closing }
  }),
  cluster('a primary that takes writes', lackOfPrimary),
  server('one channel', ({ server: { channels } }) =>
    channels.length < 2 ? undefined : { why: `it has ${channels.length} replication channels: one may stay` },
  ),
  replica('replication from the primary', lackOfReplication),
  replica('replication by GTIDs', (look, { looks }) => {
    const { server } = look
    const byPlace = channelOf(look, looks)?.autoPosition === false
    if (!byPlace || server.gtidMode !== 'ON') return undefined
    return { why: 'it follows by file and position', sql: anew(server, `${sideOf(server)}_AUTO_POSITION = 1`) }
  }),
  replica('replication without a delay', (look, { looks }) => {
    const { server } = look
    const seconds = channelOf(look, looks)?.delaySeconds ?? 0
    if (seconds === 0) return undefined
    const why = `it is ${seconds} s behind on purpose, and could not lead: take the delay away, or leave it out of the file`
    return { why, sql: anew(server, `${sideOf(server)}_DELAY = 0`) }
  }),
  replica('replication of everything', (look, { looks }) => {
    if (channelOf(look, looks)?.filtered !== true || look.host.promotion === 'never') return undefined
    const why = 'it replicates only a part: take the replication filter away, or never have it lead'
    return { why, file: 'promotion: never' }
  }),
]

function lackOfPrivileges({ host: { mysql }, server: { grants, dialect } }: AnsweredLook): Lack | undefined {
  if (dialect.onlyWatched !== '') return undefined
  const held = heldRights(grants)
  const mayGrant = grants.some((grant) => / ON \*\.\* TO .* WITH GRANT OPTION$/.test(grant))
  const lacking = [
    ...(held.has('ALL PRIVILEGES') ? [] : privileges.filter((privilege) => !held.has(privilege))),
    ...(mayGrant ? [] : ['GRANT OPTION']),
  ]
  if (lacking.length === 0) return undefined
  const more = lacking.length > namesTold ? ` and ${lacking.length - namesTold} more privileges` : ''
  const account = / TO (`[^`]*`@`[^`]*`)/.exec(grants[0] ?? '')?.[1] ?? `'${mysql.user}'`
  return {
    why: `account ${mysql.user} lacks ${lacking.slice(0, namesTold).join(', ')}${more}`,
    sql: [`GRANT ALL PRIVILEGES ON *.* TO ${account} WITH GRANT OPTION`],
  }
}

/** The first before it in the file of which that is so. */
function twinOf({ host }: Look, { answering }: Asked, isTwin: (other: SeenServer) => boolean): string | undefined {
  const first = answering.find(({ server }) => isTwin(server))?.host.instance
  return first === host.instance ? undefined : first
}

/** Step by step on all servers: a step begins where the one before is done everywhere. */
function lackOfGtids(_: unknown, { answering, looks }: Asked): Lack | undefined {
  const without = answering.filter(({ server }) => server.dialect.executed !== null && server.gtidMode !== 'ON')
  if (without.length === 0) return undefined
  const names = without.map(({ host }) => host.instance).join(', ')
  const steps = without[0]?.server.dialect.gtidSteps ?? []
  const settings = ['gtid_mode = ON', 'enforce_gtid_consistency = ON']
  if (steps.length === 0) return { why: `GTIDs are off on ${names}; this version takes them at a start only`, settings }
  const byPlace = answering.filter((look) => channelOf(look, looks)?.autoPosition === false)
  const replicas = byPlace.map(
    ({ host, server }) => `-- on ${host.instance}: ${anew(server, `${sideOf(server)}_AUTO_POSITION = 1`).join('; ')}`,
  )
  const why = `GTIDs are off on ${names}: each line on every server, before the next line anywhere`
  return { why, sql: [...steps, ...replicas], settings }
}

function lackOfPrimary(_: unknown, { primary }: Asked): Lack | undefined {
  if (primary === undefined) return { why: 'nobody is the primary: no server that others follow, or that takes writes' }
  const { host, server } = primary
  if (!answers(primary) || server === null) return undefined
  if (server.channels.length > 0)
    return {
      why: `primary ${host.instance} follows another server`,
      sql: [`-- on ${host.instance}: STOP ${server.dialect.words.replica}; RESET ${server.dialect.words.replica} ALL`],
    }
  if (takesWrites(primary)) return undefined
  const closed = server.offline ? 'offline_mode' : 'read_only'
  return {
    why: `primary ${host.instance} takes no writes: ${closed} is on`,
    sql: [`-- on ${host.instance}: SET GLOBAL ${closed} = OFF`],
  }
}

function lackOfReplication(look: AnsweredLook, { looks, primary }: Asked): Lack | undefined {
  if (primary === undefined) return undefined
  const { server } = look
  const { instance, host, port } = primary.host
  if (!follows(look, primary, looks)) {
    const side = sideOf(server)
    const login = server.channels.length > 0 ? '' : `, ${side}_USER = '…', ${side}_PASSWORD = '…'`
    const source = `${side}_HOST = '${host}', ${side}_PORT = ${port}${login}, ${side}_AUTO_POSITION = 1`
    return { why: `it does not follow ${instance}, the primary`, sql: anew(server, source) }
  }
  const { io, ioError, sql, sqlError } = channelOf(look, looks) ?? {}
  if (io === 'yes' && sql === true) return undefined
  const why = `it follows ${instance}, and does not replicate now: ${abbreviated(ioError || sqlError || 'stopped')}`
  return { why, sql: [`START ${server.dialect.words.replica}`] }
}

function anew({ dialect: { words } }: SeenServer, options: string): readonly string[] {
  return [`STOP ${words.replica}`, `${words.changeSource} ${options}`, `START ${words.replica}`]
}

export function wordIn({ dialect }: SeenServer, name: string): string {
  return dialect.oldWords ? olderName(name) : name
}

function sideOf({ dialect }: SeenServer): 'SOURCE' | 'MASTER' {
  return dialect.words.replica === 'SLAVE' ? 'MASTER' : 'SOURCE'
}

/** At once, and at the next start. */
export function setting(name: string, value: string): Pick<Lack, 'sql' | 'settings'> {
  return { sql: [`SET GLOBAL ${name} = ${value}`], settings: [`${name} = ${value}`] }
}

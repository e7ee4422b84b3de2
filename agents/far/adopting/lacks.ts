import type { Looked } from './look.ts'

/** What keeps a server from being managed, and what a person does about it: SQL, or words. */
export interface Hindrance {
  readonly instance: string
  readonly what: string
  readonly remedy: readonly string[]
}

/** A setting that must be so before anything else, and how it is made so while the server runs. */
const needed: readonly { readonly name: string; readonly value: string; readonly remedy: readonly string[] }[] = [
  {
    name: 'gtid_mode',
    value: 'ON',
    remedy: ['OFF_PERMISSIVE', 'ON_PERMISSIVE', 'ON'].map((step) => `SET PERSIST gtid_mode = ${step};`),
  },
  {
    name: 'enforce_gtid_consistency',
    value: 'ON',
    remedy: ['SET PERSIST enforce_gtid_consistency = ON;'],
  },
  { name: 'log_bin', value: 'ON', remedy: ['-- in my.cnf, and a restart: log_bin = binlog'] },
  {
    name: 'log_replica_updates',
    value: 'ON',
    remedy: ['SET PERSIST_ONLY log_replica_updates = ON;', '-- and a restart of mysqld'],
  },
  { name: 'binlog_format', value: 'ROW', remedy: ['SET PERSIST binlog_format = ROW;'] },
  {
    name: 'persisted_globals_load',
    value: 'ON',
    remedy: ['-- in my.cnf, and a restart: persisted_globals_load = ON'],
  },
]

/** What the statements of an agent need. */
const privileges = [
  ...['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'CREATE', 'DROP', 'ALTER', 'INDEX', 'EVENT', 'RELOAD', 'PROCESS'],
  ...['SUPER', 'LOCK TABLES', 'REPLICATION CLIENT', 'REPLICATION SLAVE', 'CREATE USER'],
  ...['BACKUP_ADMIN', 'CONNECTION_ADMIN', 'PERSIST_RO_VARIABLES_ADMIN', 'REPLICATION_SLAVE_ADMIN'],
  ...['SESSION_VARIABLES_ADMIN', 'SYSTEM_USER', 'SYSTEM_VARIABLES_ADMIN'],
]

/** Everything that is missing at these servers together. None: they can be managed. Pure. */
export function hindrancesOf(servers: readonly Looked[]): readonly Hindrance[] {
  return [...servers.flatMap(ofServer), ...twice(servers), ...ofTopology(servers)]
}

function ofServer(server: Looked): readonly Hindrance[] {
  const { instance } = server.access
  const old = isManageable(server.version)
    ? []
    : [
        {
          instance,
          what: `MySQL ${server.version} is watched only`,
          remedy: ['-- a server of 8.4 or later can be managed'],
        },
      ]
  const settings = needed
    .filter(({ name, value }) => server.variables.get(name) !== value)
    .map(({ name, value, remedy }) => ({
      instance,
      what: `${name} is ${server.variables.get(name) ?? 'not known'}, not ${value}`,
      remedy,
    }))
  return [...old, ...settings, ...ofAccount(server), ...ofChannel(server)]
}

function isManageable(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  return !/mariadb/i.test(version) && (major > 8 || (major === 8 && minor >= 4))
}

function ofAccount({ access, grants }: Looked): readonly Hindrance[] {
  const everywhere = grants.filter((grant) => / ON \*\.\* TO /.test(grant))
  const has = (privilege: string): boolean =>
    everywhere.some((grant) => listIn(grant).some((one) => one === privilege || one === 'ALL PRIVILEGES'))
  const lacking = privileges.filter((privilege) => !has(privilege))
  const mayGrant = everywhere.some((grant) => grant.endsWith(' WITH GRANT OPTION'))
  if (lacking.length === 0 && mayGrant) return []
  const what = [...lacking, ...(mayGrant ? [] : ['GRANT OPTION'])].join(', ')
  return [
    {
      instance: access.instance,
      what: `account ${access.user} lacks ${what}`,
      remedy: [`GRANT ALL PRIVILEGES ON *.* TO ${accountIn(grants)} WITH GRANT OPTION;`],
    },
  ]
}

function listIn(grant: string): readonly string[] {
  return (/^GRANT (.*?) ON /.exec(grant)?.[1] ?? '').split(/,\s*/)
}

function accountIn(grants: readonly string[]): string {
  return / TO (`[^`]*`@`[^`]*`)/.exec(grants[0] ?? '')?.[1] ?? '<the account>'
}

function ofChannel({ access: { instance }, source, channels }: Looked): readonly Hindrance[] {
  if (channels > 1)
    return [{ instance, what: `${channels} replication channels`, remedy: ['-- one source each; end the others'] }]
  return source === null || source.autoPosition
    ? []
    : [
        {
          instance,
          what: 'it follows by file and position',
          remedy: ['STOP REPLICA;', 'CHANGE REPLICATION SOURCE TO SOURCE_AUTO_POSITION = 1;', 'START REPLICA;'],
        },
      ]
}

/** No two servers may have one number, or one uuid: a copied folder has both. */
function twice(servers: readonly Looked[]): readonly Hindrance[] {
  return servers.flatMap((server, at) => {
    const { instance } = server.access
    const before = servers.slice(0, at)
    const sameId = before.find(({ serverId }) => serverId === server.serverId)
    const sameUuid = before.find(({ uuid }) => uuid === server.uuid)
    return [
      ...(sameId
        ? [
            {
              instance,
              what: `server_id is ${server.serverId}, as that of ${sameId.access.instance}`,
              remedy: ['SET PERSIST server_id = <another number>;'],
            },
          ]
        : []),
      ...(sameUuid
        ? [
            {
              instance,
              what: `server_uuid is ${server.uuid}, as that of ${sameUuid.access.instance}`,
              remedy: [
                '-- remove auto.cnf from its data folder, and restart mysqld; or the hosts file names one server twice',
              ],
            },
          ]
        : []),
    ]
  })
}

function ofTopology(servers: readonly Looked[]): readonly Hindrance[] {
  const open = servers.filter(({ isOpen, source }) => isOpen && source === null)
  const primary = open[0]
  if (primary === undefined || open.length > 1)
    return [
      {
        instance: open.map(({ access }) => access.instance).join(', ') || 'nobody',
        what: open.length === 0 ? 'no server takes writes' : 'more than one server takes writes',
        remedy: ['-- one of them is the primary: make the others replicas of it, read-only'],
      },
    ]
  return servers
    .filter((server) => server !== primary && !(server.source?.uuid === primary.uuid && server.source.running))
    .map(({ access }) => ({
      instance: access.instance,
      what: `it does not follow ${primary.access.instance}, the server that takes writes`,
      remedy: ['-- START REPLICA, or CHANGE REPLICATION SOURCE TO that server with SOURCE_AUTO_POSITION = 1'],
    }))
}

/** The one that takes writes; to be asked only where nothing is missing. */
export function primaryOf(servers: readonly Looked[]): Looked {
  const primary = servers.find(({ isOpen, source }) => isOpen && source === null)
  if (primary === undefined) throw new Error('no server takes writes')
  return primary
}

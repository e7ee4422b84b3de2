import { join } from 'node:path'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import type { Connection } from 'mysql2/promise'
import { issueAuthority, issueLeaf } from '#certificates/issue.ts'
import { realRandom } from '#common/ports/real-world.ts'
import { until } from './bare-instance.ts'
import { LoneServer, rows, value } from './lone-server.ts'

const day = 86_400_000
const groupName = 'c0ffee00-5eed-4a11-8a11-000000000001'
export const memberName = 'group.regent.test'
/** Group Replication takes an address that an interface of the machine has, and the loopback interface has one. */
const host = '127.0.0.1'

/** Members’ own account: recovery, and the stream of the group. */
const recovery = { user: 'recovering', password: 'a password of tests only' }
/** As an agent has it: the stream of the group and nothing else. */
export const streamAccount = { user: 'streaming', password: 'another password of tests only' }
/** Reads and writes rows. */
export const clientAccount = { user: 'client', password: 'a third password of tests only' }

/** A server of a group, without an agent. */
export interface BareMember {
  readonly server: LoneServer
  readonly host: string
  /** Where clients log in. */
  readonly port: number
  /** Its name in the group. */
  readonly address: string
  /** A session of root over the socket; another one after each start. */
  root: Connection
}

/** How the members speak to each other. */
export type GroupStack = 'mysql' | 'xcom'

/** Servers in one Group Replication group, over TLS, single-primary, whose life and death a test decides. */
export class BareGroup {
  readonly members: readonly BareMember[]
  /** PEM of the authority that signed the members’ certificate. */
  readonly ca: string
  readonly #options: readonly string[]
  readonly #folder: string

  private constructor(parts: {
    readonly members: readonly BareMember[]
    readonly ca: string
    readonly options: readonly string[]
    readonly folder: string
  }) {
    this.members = parts.members
    this.ca = parts.ca
    this.#options = parts.options
    this.#folder = parts.folder
  }

  /** Starts `count` servers on the ports from `firstPort` on, with these options too, and brings them into a group. */
  static async start(
    firstPort: number,
    count: number,
    stack: GroupStack = 'mysql',
    more: readonly string[] = [],
  ): Promise<BareGroup> {
    const folder = await mkdtemp(join(tmpdir(), 'regent-group-'))
    const ca = await writeCertificates(folder)
    const members: BareMember[] = []
    for (let port = firstPort; port < firstPort + count; port++) {
      const server = await LoneServer.create()
      const address = `${host}:${stack === 'mysql' ? port : port + 100}`
      members.push({ server, host, port, address, root: undefined as unknown as Connection })
    }
    const seeds = members.map(({ address }) => address).join(',')
    const group = new BareGroup({ members, ca, options: [...groupOptions(folder, seeds, stack), ...more], folder })
    try {
      for (const member of members) await group.boot(member)
      for (const member of members) await prepare(member)
      for (const member of members) await group.join(member)
    } catch (error) {
      await group.remove()
      throw error
    }
    return group
  }

  /** Starts the server alone, read-only and outside the group. */
  async boot(member: BareMember): Promise<void> {
    const { port, address } = member
    const ordinal = this.members.indexOf(member) + 1
    member.root = await member.server.start(
      ...this.#options,
      `--server-id=${ordinal}`,
      `--port=${port}`,
      `--bind-address=${host}`,
      `--report-host=${host}`,
      `--loose-group-replication-local-address=${address}`,
    )
  }

  /** Brings it into the group, which the first one that joins begins; resolves when it is ONLINE. */
  async join(member: BareMember): Promise<void> {
    const isFirst = (await this.online()).length === 0
    if (isFirst) await member.root.query('set global group_replication_bootstrap_group = on')
    await member.root.query('start group_replication').catch(async (error: unknown) => {
      throw new Error(`${member.address}: ${String(error)}\n${await complaintsIn(member.server.errorLog)}`)
    })
    if (isFirst) await member.root.query('set global group_replication_bootstrap_group = off')
    await until(async () => (await this.#stateAt(member)) === 'ONLINE', `${member.address} is ONLINE`, 60_000)
  }

  /** Members whose servers run and which say of themselves that they are ONLINE. */
  async online(): Promise<readonly BareMember[]> {
    const states = await Promise.all(this.members.map(async (member) => [member, await this.#stateAt(member)] as const))
    return states.filter(([, state]) => state === 'ONLINE').map(([member]) => member)
  }

  /** The group as this member tells it. */
  async told(member: BareMember): Promise<readonly ToldMember[]> {
    const found = await rows<Record<string, string>>(
      member.root,
      `select member_port as port, member_state as state, member_role as role, member_version as version
       from performance_schema.replication_group_members where member_id <> '' order by member_port`,
    )
    return found.map(({ port, state = '', role = '', version = '' }) => ({ port: Number(port), state, role, version }))
  }

  /** Who is primary, as `member` tells; undefined while there is none. */
  async primary(member: BareMember): Promise<BareMember | undefined> {
    const primary = (await this.told(member)).find(({ role }) => role === 'PRIMARY')
    return this.members.find(({ port }) => port === primary?.port)
  }

  async remove(): Promise<void> {
    for (const { server } of this.members) await server.remove()
    await rm(this.#folder, { recursive: true, force: true })
  }

  async #stateAt({ root }: BareMember): Promise<string> {
    return value(
      root,
      'select member_state from performance_schema.replication_group_members where member_id = @@server_uuid',
    ).catch(() => 'no answer')
  }
}

export interface ToldMember {
  readonly port: number
  readonly state: string
  readonly role: string
  readonly version: string
}

/** Accounts and a table; nothing of it is in a binary log, so that no member has transactions of its own. */
async function prepare({ root }: BareMember): Promise<void> {
  const { user, password } = recovery
  await root.query('set sql_log_bin = 0; set global super_read_only = off; set global read_only = off')
  for (const account of [recovery, streamAccount, clientAccount])
    await root.query(`create user '${account.user}'@'%' identified by '${account.password}'`)
  await root.query(
    `grant replication slave, connection_admin, backup_admin, group_replication_stream on *.* to ${user}`,
  )
  await root.query(`grant group_replication_stream on *.* to ${streamAccount.user}`)
  await root.query(`grant select, insert, create on app.* to ${clientAccount.user}`)
  await root.query('create database app; create table app.writes (id bigint primary key) engine = innodb')
  await root.query('set sql_log_bin = 1; reset binary logs and gtids')
  await root.query(
    `change replication source to source_user = '${user}', source_password = '${password}' for channel 'group_replication_recovery'`,
  )
}

/** The last warnings and errors that a server logged. */
async function complaintsIn(errorLog: string): Promise<string> {
  const lines = (await readFile(errorLog, 'utf8')).split('\n')
  return lines
    .filter((line) => /\[(Warning|ERROR)\]/i.test(line))
    .slice(-15)
    .join('\n')
}

async function writeCertificates(folder: string): Promise<string> {
  const moment = { wallMs: Date.now(), random: realRandom }
  const authority = await issueAuthority(day, moment)
  const leaf = await issueLeaf(authority, { dns: [memberName], purposes: ['server', 'client'], validMs: day }, moment)
  const files = { 'ca.pem': authority.cert, 'cert.pem': leaf.cert, 'key.pem': leaf.key }
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text, { mode: 0o600 })
  return authority.cert
}

function groupOptions(folder: string, seeds: string, stack: GroupStack): readonly string[] {
  const file = (name: string) => join(folder, name)
  return [
    '--skip-networking=OFF',
    '--super-read-only=ON',
    '--innodb-use-native-aio=OFF',
    '--plugin-load-add=group_replication.so',
    `--ssl-ca=${file('ca.pem')}`,
    `--ssl-cert=${file('cert.pem')}`,
    `--ssl-key=${file('key.pem')}`,
    `--loose-group-replication-group-name=${groupName}`,
    `--loose-group-replication-group-seeds=${seeds}`,
    `--loose-group-replication-communication-stack=${stack.toUpperCase()}`,
    '--loose-group-replication-start-on-boot=OFF',
    '--loose-group-replication-ssl-mode=REQUIRED',
    '--loose-group-replication-recovery-use-ssl=ON',
  ]
}

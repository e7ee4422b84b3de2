import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { networkInterfaces, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ClusterView, TopologyView } from '#api-contract/views.ts'
import type { ExplainView } from '#api-contract/explain-view.ts'
import { runRegent } from '../../support/cluster.ts'
import { until } from '../../support/bare-instance.ts'
import { ownAddress, type OwnAddress } from '../../support/own-address.ts'
import { accountStatements, newestMysql, passwordFile, StrangeServer } from '../../support/strange-servers.ts'
import { eachOne } from '../../support/each-one.ts'

const ports = [13_306, 13_307, 13_308] as const
/** The third server listens there, too, where this machine has the address. */
const hasIpv6 = networkInterfaces()['lo']?.some(({ address: own }) => own === '::1') ?? false

let home: string
let address: OwnAddress
let password: string
let servers: readonly StrangeServer[]

/** As the manual says, by somebody who has never heard of Regent. By default a replica gives up at its tenth try. */
async function replicate(source: StrangeServer, replica: StrangeServer): Promise<void> {
  await replica.sql(
    `CHANGE REPLICATION SOURCE TO SOURCE_HOST = '${source.host}', SOURCE_PORT = ${source.port}, SOURCE_USER = 'repl',
      SOURCE_PASSWORD = 'follows', SOURCE_AUTO_POSITION = 1, GET_SOURCE_PUBLIC_KEY = 1, SOURCE_CONNECT_RETRY = 1, SOURCE_RETRY_COUNT = 86400`,
    'START REPLICA',
    'SET GLOBAL read_only = ON',
  )
}

async function regent(...words: readonly string[]) {
  return runRegent(home, words, { deadlineMs: 120_000 })
}

async function json<Answer>(...words: readonly string[]): Promise<Answer> {
  const ran = await regent(...words, '-o', 'json')
  if (ran.code !== 0) throw new Error(ran.stderr)
  return JSON.parse(ran.stdout) as Answer
}

const topology = (): Promise<TopologyView> => json('topology', 'shop')

async function adoptionFile(name: string, hosts: readonly string[], more = ''): Promise<string> {
  const file = join(home, `${name}.yaml`)
  const lines = hosts.map((host) => `  - ${host}`).join('\n')
  await writeFile(
    file,
    `cluster: ${name}\nmysql: { user: regent, passwordFile: ${password} }\n${more}hosts:\n${lines}\n`,
  )
  return file
}

const at = (port: number): string => `${address.host}:${port}`

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'regent-adopt-'))
  address = await ownAddress()
  password = await passwordFile(home, 'looks')
  const program = await newestMysql()
  const more = ['--gtid-mode=ON', '--enforce-gtid-consistency=ON', '--general-log=ON']
  servers = await StrangeServer.several(
    program,
    ports.map((port, ordinal) => ({
      ...{ host: address.host, port, serverId: ordinal + 1 },
      more: ordinal === 2 && hasIpv6 ? [...more, `--bind-address=${address.host},::1`] : more,
    })),
  )
  await eachOne(servers, (server) => server.start())
  for (const server of servers) await server.sql('SET sql_log_bin = 0', ...accountStatements())
  const [source, ...replicas] = servers
  if (source === undefined) return
  for (const replica of replicas) await replicate(source, replica)
  await source.sql('CREATE DATABASE t', 'CREATE TABLE t.t (a INT PRIMARY KEY)', 'INSERT INTO t.t VALUES (1)')
})

afterAll(async () => {
  await regent('adopt', 'remove', 'shop')
  await eachOne(servers, (server) => server.remove())
  await rm(home, { recursive: true, force: true })
  address.release()
})

describe('Servers that are there already', () => {
  it('are found from the address of one of them', async () => {
    const words = ['adopt', '--from', at(13_307), '--name', 'shop', '--user', 'regent', '--password-file', password]
    const found = await json<{ instances: ClusterView['instances']; primary: string }>(...words, '--check')
    expect(found.primary).toBe('shop-0')
    expect(found.instances.map(({ port, role }) => `${port} ${role}`)).toEqual([
      '13306 primary',
      '13307 replica',
      '13308 replica',
    ])
  })

  it('are adopted as a file of MHA names them, and each line says what came of it', async () => {
    const file = join(home, 'app1.cnf')
    const sections = ports.map((port, ordinal) => `[server${ordinal + 1}]\nhostname=${address.host}\nport=${port}`)
    const common =
      '[server default]\nuser=regent\npassword=looks\nrepl_user=repl\nrepl_password=follows\nping_interval=3'
    await writeFile(file, `${common}\n${sections.join('\n')}\ncandidate_master=1\n`)
    const ran = await regent('adopt', '--mha', file, '--check')
    expect(ran.code, ran.stderr).toBe(0)
    expect(ran.stdout).toContain('app1.cnf:3 [serverdefault] password=…  →  mysql.passwordFile')
    expect(ran.stdout).toContain('ping_interval=3  –  not needed: each server is looked at once a second')
    expect(ran.stdout).toContain('candidate_master=1  →  hosts.promotion: prefer')
    expect(ran.stdout).toMatch(/app1 {2}async {2}only watched {2}WRITABLE {2}primary app1-0/)
  })

  it.each<[string, () => Promise<string>, RegExp]>([
    [
      'with a wrong password for one of them',
      async () => {
        const wrong = await passwordFile(home, 'wrong')
        const third = `{ host: ${address.host}, port: 13308, mysql: { user: regent, passwordFile: ${wrong} } }`
        return adoptionFile('wrong', [at(13_306), at(13_307), third])
      },
      /wrong-2 at .*:13308: it lives, and refuses Regent’s account \(Access denied/,
    ],
    [
      'under two names',
      async () => adoptionFile('twice', [at(13_306), at(13_308), hasIpv6 ? "'[::1]:13308'" : at(13_308).toUpperCase()]),
      hasIpv6 ? /twice-2 at \[::1\]:13308 and twice-1 at .*:13308 are one server/ : /once more/,
    ],
    ['that do not answer at all', async () => adoptionFile('gone', [at(13_399)]), /no server answers/],
    [
      'under a name without an address',
      async () => adoptionFile('lost', ['nowhere.invalid']),
      /its name has no address/,
    ],
  ])('are not adopted %s', async (_, write, words) => {
    const ran = await regent('adopt', await write(), '--check')
    expect(ran.code).not.toBe(0)
    expect(ran.stderr).toMatch(words)
  })

  it('are watched, and shown as every cluster is', async () => {
    const ran = await regent(
      'adopt',
      await adoptionFile('shop', [at(13_306), at(13_307), hasIpv6 ? "'[::1]:13308'" : at(13_308)]),
    )
    expect(ran.code, ran.stderr).toBe(0)
    expect(ran.stdout).toContain('SET GLOBAL replica_net_timeout = 5;')
    await until(async () => (await topology()).whole, 'all servers are seen')
    const view = await topology()
    expect(view).toMatchObject({ watched: true, primary: 'shop-0', writable: true, problems: [] })
    expect(view.tree).toMatchObject([{ name: 'shop-0', replicas: [{ name: 'shop-1' }, { name: 'shop-2' }] }])
    const explained = await json<ExplainView>('explain', 'shop')
    expect(explained.watched?.servers[0]).toMatch(/^shop-0 at .*:13306: 9\..* spoken to as MySQL 9$/)
    const refused = await regent('switchover', 'shop')
    expect(refused.stderr).toContain('shop is only watched: switchover would change its servers')
  })

  it('whose primary dies are left as they are, and what would be done is said', async () => {
    const [source, first] = servers
    await source?.signal('SIGKILL')
    await until(async () => (await topology()).sentence.includes('is dead'), 'the death is said')
    const view = await topology()
    expect(view.sentence).toBe(
      'only watched: shop-0 is dead: nobody listens there, and shop-1 and shop-2 lost it; would wait for a person (best is shop-1): no SSH, and acceptLoss is never',
    )
    expect(view).toMatchObject({ writable: false, blocked: true, primary: 'shop-0' })
    expect((await first?.sql('SELECT @@read_only AS readOnly'))?.[0]).toEqual({ readOnly: 1 })
    await source?.start()
    await until(async () => (await topology()).whole, 'all is well again')
    const { recoveries } = await json<{ recoveries: readonly { outcome: string; sentence: string }[] }>(
      'recoveries',
      'shop',
    )
    expect(recoveries[0]).toMatchObject({
      outcome: 'abandoned',
      sentence: expect.stringContaining('Regent only watched') as string,
    })
  })

  it('were asked, and nothing else', async () => {
    for (const server of servers) {
      const own = statementsOf(await server.generalLog(), 'regent')
      expect(own.length).toBeGreaterThan(10)
      expect(own.filter((statement) => !/^(SELECT|SHOW) /.test(statement))).toEqual([])
    }
  })

  it('are forgotten, and nobody watches any more', async () => {
    expect((await regent('adopt', 'remove', 'shop')).code).toBe(0)
    expect((await regent('topology', 'shop')).stderr).toContain('there is no local cluster')
  })
})

/** Statements of the sessions of a user, by the general log: `time id command argument`. */
function statementsOf(log: string, user: string): readonly string[] {
  const own = new Set<string>()
  return log.split('\n').flatMap((line) => {
    const [, id = '', command, argument = ''] = /^\S+\s+(\d+) (Connect|Query)\t(.*)$/.exec(line) ?? []
    if (command === 'Connect' && argument.startsWith(`${user}@`)) own.add(id)
    if (command === 'Connect' && !argument.startsWith(`${user}@`)) own.delete(id)
    return command === 'Query' && own.has(id) ? [argument] : []
  })
}

import { describe, expect, it, onTestFinished } from 'vitest'
import { checkAdoption } from '#adopt/adoption.ts'
import { discover } from '#adopt/origin/discover.ts'
import { checkServers } from '#adopt/watch/check.ts'
import { linesOf, needsFor } from '#adopt/watch/needs.ts'
import { ownAddress } from '../../support/own-address.ts'
import {
  accountStatements,
  mariadb,
  mysql56,
  passwordFile,
  StrangeServer,
  type Program,
} from '../../support/strange-servers.ts'
import { until } from '../../support/bare-instance.ts'
import { eachOne } from '../../support/each-one.ts'

interface Old {
  readonly monitor?: string
  readonly more: readonly string[]
  readonly follow: (source: StrangeServer) => readonly string[]
}

const changeMaster = ({ host, port }: StrangeServer, more: string): string =>
  `CHANGE MASTER TO MASTER_HOST = '${host}', MASTER_PORT = ${port}, MASTER_USER = 'repl', MASTER_PASSWORD = 'follows', ${more}`

const gtids56 = ['--gtid-mode=ON', '--enforce-gtid-consistency=ON']

/** A source and a replica of that program; undefined, and a sentence on the console, where it cannot be had. */
async function twoServers(program: Program | string, { more, follow, monitor }: Old) {
  if (typeof program === 'string') return void console.warn(program)
  const { host, release } = await ownAddress()
  const servers = await Promise.all(
    [0, 1].map((at) => StrangeServer.create(program, { host, port: 13_400 + at, serverId: at + 1, more })),
  )
  onTestFinished(async () => {
    await eachOne(servers, (server) => server.remove())
    release()
  })
  await eachOne(servers, (server) => server.start())
  const [source, replica] = servers
  if (source === undefined || replica === undefined) return undefined
  for (const server of servers) await server.sql('SET sql_log_bin = 0', ...accountStatements(monitor))
  await replica.sql(...follow(source), 'START SLAVE', 'SET GLOBAL read_only = ON')
  await source.sql('CREATE DATABASE t', 'CREATE TABLE t.t (a INT PRIMARY KEY)', 'INSERT INTO t.t VALUES (1)')
  await until(
    async () => (await replica.sql(`SHOW DATABASES LIKE 't'`)).length === 1,
    'the replica has what the source wrote',
  )
  const mysql = { user: 'regent', passwordFile: await passwordFile(source.folder, 'looks') }
  const hosts = servers.map(({ port }) => ({ host, port }))
  return { source, adoption: checkAdoption('the test', { cluster: 'old', mysql, hosts }), mysql }
}

async function afterDeath(source: StrangeServer, adoption: Parameters<typeof checkServers>[0]) {
  const before = await checkServers(adoption)
  expect(before.judgement).toMatchObject({ primary: 'old-0', kind: 'serving', writable: true, analyses: [] })
  expect(before.looks[1]?.server?.channels[0]).toMatchObject({ io: 'yes', sql: true, sourcePort: source.port })
  await source.signal('SIGKILL')
  await until(async () => (await checkServers(adoption)).looks[0]?.reach === 'refused', 'nobody listens any more')
  return before
}

describe('A server that Regent does not manage', () => {
  it('of MySQL 5.6 with GTIDs is understood and discovered', async () => {
    const follow = (source: StrangeServer) => [changeMaster(source, 'MASTER_AUTO_POSITION = 1')]
    const found = await twoServers(await mysql56(), { more: gtids56, follow })
    if (found === undefined) return
    const { source, adoption, mysql } = found
    const discovered = await discover(
      { host: source.host, port: source.port },
      { cluster: 'old', mysql, tell: () => undefined },
    )
    expect(discovered.hosts.map(({ port }) => port)).toEqual([13_400, 13_401])
    const { looks } = await afterDeath(source, adoption)
    const server = looks[0]?.server
    expect(server).toMatchObject({ dialect: { name: 'MySQL 5.6', tried: true }, gtidMode: 'ON', logBin: true })
    expect(server?.executed).toMatch(/^[0-9a-f-]{36}:1-\d+$/)
    expect(needsFor(adoption, looks).flatMap(linesOf).join('\n')).toContain(
      'Regent manages servers that it finds from MySQL 8.4 on',
    )
  })

  it('of MySQL 5.6 without GTIDs is compared by places in the binlog', async () => {
    const follow = (source: StrangeServer) => [
      changeMaster(source, `MASTER_LOG_FILE = 'binlog.000001', MASTER_LOG_POS = 4`),
    ]
    const found = await twoServers(await mysql56(), { more: [], follow })
    if (found === undefined) return
    const { looks } = await afterDeath(found.source, found.adoption)
    expect(looks[0]?.server?.executed).toBe('')
    const read = looks[1]?.server?.channels[0]?.read
    expect(read).toEqual(looks[0]?.server?.binlog)
    const words = needsFor(found.adoption, looks).flatMap(linesOf).join('\n')
    expect(words).toContain('GTIDs are off on old-0, old-1; this version takes them at a start only')
  })

  it('of MariaDB is understood, and only watched', async () => {
    const follow = (source: StrangeServer) => [changeMaster(source, 'MASTER_USE_GTID = slave_pos')]
    const found = await twoServers(await mariadb(), { more: [], follow, monitor: 'REPLICA MONITOR, BINLOG MONITOR' })
    if (found === undefined) return
    const { looks } = await afterDeath(found.source, found.adoption)
    expect(looks[0]?.server).toMatchObject({ dialect: { name: 'MariaDB', tried: true }, executed: '', uuid: '' })
    expect(needsFor(found.adoption, looks).flatMap(linesOf).join('\n')).toContain('Regent manages MySQL alone')
  })
})

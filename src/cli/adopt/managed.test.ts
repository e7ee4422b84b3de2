import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { stringify } from 'yaml'
import { adoptedFolder, keepAdoption, prepareFolder } from '#adopt/adopted-folder.ts'
import { needsOf } from '#adopt/watch/needs.ts'
import { requirements } from '#adopt/watch/requirements.ts'
import { aChannel, anAdoption, judged, looksOf, type LookOverrides, type Scene } from '#adopt/watch/testing.ts'
import type { FarPlaces } from '#agents/instance/config.ts'
import { writeCluster } from '#local/folder/cluster-file.ts'
import { uuidOf } from '#topology/testing.ts'
import type { Io } from '../terminal/io.ts'
import { manage, watchAgain } from './managed.ts'

const ssh = { user: 'mysql', keyFile: '/k', knownHostsFile: '/h' }
/** Nothing is missing, and nothing is to be noted. */
const well: Scene = { adoption: { ssh } }
const with1 = (second: LookOverrides): Scene => ({ ...well, looks: [{}, second, {}] })
const server1 = (server: NonNullable<LookOverrides['server']>): Scene => with1({ server })

/** By the name of each requirement: servers that fall short of just that, and what is said. */
const lacks: Readonly<Record<string, readonly (readonly [Scene, readonly string[]])[]>> = {
  'few servers': [
    [
      { ...well, looks: Array.from({ length: 17 }, () => ({})) },
      ['the adoption file names 17 servers: 16 may be managed as one cluster'],
    ],
  ],
  'SSH, or mode async': [
    [
      { adoption: { mode: 'semisync' }, hosts: { 0: { ssh }, 2: { ssh } } },
      [
        'shop-1: mode semisync needs SSH to it; in mode async SQL alone will do',
        '  in the adoption file: ssh: { user: mysql, keyFile: …, knownHostsFile: … }',
      ],
    ],
  ],
  'an answer': [
    [
      with1({ reach: 'lockedOut', why: "Access denied for user 'regent'" }),
      ["shop-1: it lives, and refuses Regent’s account (Access denied for user 'regent')"],
    ],
    [with1({ reach: 'refused', server: null }), ['shop-1: nobody listens there']],
  ],
  'a version that can be managed': [
    [server1({ version: '8.0.44' }), ['shop-1: it is 8.0.44: Regent manages servers that it finds from MySQL 8.4 on']],
  ],
  'all privileges': [
    [
      server1({
        grants: ['GRANT SELECT, SUPER ON *.* TO `regent`@`10.%`', 'GRANT BACKUP_ADMIN ON *.* TO `regent`@`10.%`'],
      }),
      [
        'shop-1: account regent lacks INSERT, UPDATE, DELETE, CREATE and 19 more privileges',
        '  GRANT ALL PRIVILEGES ON *.* TO `regent`@`10.%` WITH GRANT OPTION;',
      ],
    ],
    [
      server1({
        grants: ['GRANT ALL PRIVILEGES ON *.* TO `regent`@`%`', 'GRANT ALL ON t.* TO `regent`@`%` WITH GRANT OPTION'],
      }),
      ['shop-1: account regent lacks GRANT OPTION', '  GRANT ALL PRIVILEGES ON *.* TO `regent`@`%` WITH GRANT OPTION;'],
    ],
  ],
  'no manager of MHA': [
    [
      server1({ mhaWatches: true }),
      ['shop-1: MHA’s manager watches it, and two managers elect two primaries: stop MHA’s first, by masterha_stop'],
    ],
  ],
  'a binlog': [
    [
      server1({ logBin: false, logReplicaUpdates: false }),
      [
        'shop-1: it writes no binlog, so nobody could follow it',
        '  in [mysqld] of my.cnf, then a restart: log_bin = binlog',
      ],
    ],
  ],
  'a binlog of what is replicated': [
    [
      server1({ logReplicaUpdates: false }),
      [
        'shop-1: it does not log what it replicates, so it could not lead',
        '  in [mysqld] of my.cnf, then a restart: log_replica_updates = ON',
      ],
    ],
  ],
  'a binlog of rows': [
    [
      server1({ binlogFormat: 'MIXED' }),
      [
        'shop-1: its binlog_format is MIXED',
        '  SET GLOBAL binlog_format = ROW;',
        '  in [mysqld] of my.cnf, for the next start: binlog_format = ROW',
      ],
    ],
  ],
  'persisted settings that are loaded': [
    [
      server1({ loadsPersisted: false }),
      [
        'shop-1: its persisted_globals_load is OFF, so a start would find it open',
        '  in [mysqld] of my.cnf, then a restart: persisted_globals_load = ON',
      ],
    ],
  ],
  'a server_id of its own': [
    [
      server1({ serverId: 3 }),
      [
        'shop-2: its server_id is 3, as that of shop-1',
        '  SET GLOBAL server_id = 5;',
        '  in [mysqld] of my.cnf, for the next start: server_id = 5',
      ],
    ],
  ],
  'a server_uuid of its own': [
    [
      { ...well, looks: [{}, { server: { uuid: 'same' } }, { server: { uuid: 'same' } }] },
      ['shop-2: its server_uuid is that of shop-1: remove auto.cnf from its data folder, then restart mysqld'],
    ],
  ],
  GTIDs: [
    [
      { ...well, looks: [{}, { server: { gtidMode: 'OFF' }, channel: { autoPosition: false } }] },
      [
        'GTIDs are off on shop-1: each line on every server, before the next line anywhere',
        '  SET GLOBAL enforce_gtid_consistency = ON;',
        '  SET GLOBAL gtid_mode = OFF_PERMISSIVE;',
        '  SET GLOBAL gtid_mode = ON_PERMISSIVE;',
        '  SET GLOBAL gtid_mode = ON;',
        '  -- on shop-1: STOP REPLICA; CHANGE REPLICATION SOURCE TO SOURCE_AUTO_POSITION = 1; START REPLICA;',
        '  in [mysqld] of my.cnf, for the next start: gtid_mode = ON, enforce_gtid_consistency = ON',
      ],
    ],
  ],
  'replicas that are closed': [
    [
      server1({ readOnly: false }),
      [
        'shop-1: it takes writes beside the primary',
        '  SET GLOBAL super_read_only = ON;',
        '  in [mysqld] of my.cnf, for the next start: super_read_only = ON',
      ],
    ],
  ],
  'a primary that takes writes': [
    [
      { ...well, looks: [{ server: { readOnly: true } }, { follows: null, server: { readOnly: true } }] },
      ['nobody is the primary: no server that others follow, or that takes writes'],
    ],
    [
      { ...well, looks: [{ server: { readOnly: true } }, {}] },
      ['primary shop-0 takes no writes: read_only is on', '  -- on shop-0: SET GLOBAL read_only = OFF;'],
    ],
    [
      { ...well, looks: [{ server: { offline: true } }, {}] },
      ['primary shop-0 takes no writes: offline_mode is on', '  -- on shop-0: SET GLOBAL offline_mode = OFF;'],
    ],
    [
      {
        ...well,
        looks: [{ server: { channels: [aChannel(0, { sourceHost: '10.9.9.9', sourceUuid: 'other' })] } }, {}],
      },
      ['primary shop-0 follows another server', '  -- on shop-0: STOP REPLICA; RESET REPLICA ALL;'],
    ],
  ],
  'one channel': [
    [
      server1({ channels: [aChannel(0), aChannel(0, { name: 'other', sourceHost: '10.9.9.9', sourceUuid: 'other' })] }),
      ['shop-1: it has 2 replication channels: one may stay'],
    ],
  ],
  'replication from the primary': [
    [
      { ...well, looks: [{}, {}, { follows: 1 }] },
      [
        'shop-2: it does not follow shop-0, the primary',
        '  STOP REPLICA;',
        "  CHANGE REPLICATION SOURCE TO SOURCE_HOST = '10.0.0.1', SOURCE_PORT = 3306, SOURCE_AUTO_POSITION = 1;",
        '  START REPLICA;',
      ],
    ],
    [
      with1({ follows: null, server: { readOnly: true } }),
      [
        'shop-1: it does not follow shop-0, the primary',
        '  STOP REPLICA;',
        "  CHANGE REPLICATION SOURCE TO SOURCE_HOST = '10.0.0.1', SOURCE_PORT = 3306, SOURCE_USER = '…', SOURCE_PASSWORD = '…', SOURCE_AUTO_POSITION = 1;",
        '  START REPLICA;',
      ],
    ],
    [
      with1({ channel: { io: 'no' } }),
      ['shop-1: it follows shop-0, and does not replicate now: stopped', '  START REPLICA;'],
    ],
    [
      with1({ channel: { sql: false, sqlError: 'duplicate key' } }),
      ['shop-1: it follows shop-0, and does not replicate now: duplicate key', '  START REPLICA;'],
    ],
  ],
  'replication by GTIDs': [
    [
      with1({ channel: { autoPosition: false } }),
      [
        'shop-1: it follows by file and position',
        '  STOP REPLICA;',
        '  CHANGE REPLICATION SOURCE TO SOURCE_AUTO_POSITION = 1;',
        '  START REPLICA;',
      ],
    ],
  ],
  'replication without a delay': [
    [
      with1({ channel: { delaySeconds: 3_600 } }),
      [
        'shop-1: it is 3600 s behind on purpose, and could not lead: take the delay away, or leave it out of the file',
        '  STOP REPLICA;',
        '  CHANGE REPLICATION SOURCE TO SOURCE_DELAY = 0;',
        '  START REPLICA;',
      ],
    ],
  ],
  'replication of everything': [
    [
      with1({ channel: { filtered: true } }),
      [
        'shop-1: it replicates only a part: take the replication filter away, or never have it lead',
        '  in the adoption file: promotion: never',
      ],
    ],
  ],
}

const scenes = Object.entries(lacks).flatMap(([name, all]) => all.map(([scene, said]) => [name, scene, said] as const))

const quiet: Io = {
  ...{ env: {}, colour: false, terminal: false, interrupted: () => new AbortController().signal },
  ...{ out: () => undefined, note: () => undefined },
}

const noHooks = [
  'no hooks: a virtual address, or a name in DNS, stays on the old primary when another one leads',
  '  in the adoption file: hooks, see docs/guide/hooks.md; no matter where clients use none of these',
]

/** What `manage` prints of these servers, and how it ends. */
async function managing(scene: Scene, unreached: readonly string[] = []) {
  const home = await mkdtemp(join(tmpdir(), 'regent-managed-'))
  onTestFinished(() => rm(home, { recursive: true }))
  const file = join(home, 'shop.yaml')
  await writeFile(file, stringify(anAdoption(scene)))
  const printed: string[] = []
  const io: Io = { ...quiet, out: (line) => printed.push(line) }
  const check = async () => ({ looks: looksOf(scene), judgement: judged(scene), refusals: [] })
  const find = async () => ({ servers: [], unreached })
  const ended = await manage(io, 'shop', { file, check: true }, { check, find }).then(
    () => 'nothing is missing',
    (error: Error) => error.message,
  )
  return { printed, ended }
}

describe('Servers', () => {
  it('that lack nothing can be managed', async () => {
    expect(needsOf(anAdoption(well), looksOf(well))).toMatchObject({ missing: [], notes: [] })
    expect(await managing(well)).toEqual({
      printed: [...noHooks, 'nothing is missing: shop can be managed'],
      ended: 'nothing is missing',
    })
  })

  it('with hooks are managed with these, and who manages them reads which programs will run', async () => {
    const hooks = { afterFailover: [{ command: ['/usr/local/bin/vip', 'add'] }], failed: [{ shell: 'logger no' }] }
    expect((await managing({ adoption: { ssh, hooks } })).printed).toEqual([
      'run on this machine around a change of the primary:',
      '  hooks.afterFailover: vip',
      '  hooks.failed: logger',
      'nothing is missing: shop can be managed',
    ])
  })

  it('with a webhook whose secret cannot be read are refused before anything is changed', async () => {
    const webhook = { url: 'https://example.com', secretFile: '/nowhere/secret' }
    const { ended } = await managing({ adoption: { ssh, hooks: { failed: [{ webhook }] } } })
    expect(ended).toContain('hooks.failed.0.webhook.secretFile: ')
  })

  it('whose host an agent could not use over SSH are refused before anything is changed', async () => {
    const why = 'shop-1: SSH to 10.0.0.2 will not do: the key of 10.0.0.2 is not known'
    expect(await managing(well, [why])).toEqual({
      printed: [why],
      ended: expect.stringContaining('cannot be managed yet') as string,
    })
  })

  it.each(scenes)('that lack %s are told so while they are watched, and refused in the same words', async (...one) => {
    const [, scene, said] = one
    expect(needsOf(anAdoption(scene), looksOf(scene)).missing).toEqual(said)
    const { printed, ended } = await managing(scene)
    expect(printed).toEqual(said)
    expect(ended).toContain('cannot be managed yet')
  })

  it('are tried with each lack', () => {
    expect(Object.keys(lacks)).toEqual(requirements.map(({ name }) => name))
  })

  it('that SQL alone reaches can be managed in mode async, and people are told what that means', async () => {
    const { notes, missing } = needsOf(anAdoption(), looksOf({}))
    expect(missing).toEqual([])
    expect(notes[0]).toBe('without SSH: shop-0, shop-1, shop-2')
    expect((await managing({})).printed).toEqual([...notes, ...noHooks, 'nothing is missing: shop can be managed'])
  })

  it('that replicate only a part, and never lead, can be managed', () => {
    const scene = { ...with1({ channel: { filtered: true } }), hosts: { 1: { promotion: 'never' } } }
    expect(needsOf(anAdoption(scene), looksOf(scene)).missing).toEqual([])
  })

  it('that nobody adopted cannot be managed, and those that nobody manages are not given back', async () => {
    vi.stubEnv('REGENT_HOME', await mkdtemp(join(tmpdir(), 'regent-managed-')))
    onTestFinished(() => rm(process.env['REGENT_HOME'] ?? '', { recursive: true }))
    await expect(manage(quiet, 'other', {})).rejects.toThrow('no cluster other was adopted; there is none')
    await prepareFolder(adoptedFolder())
    await keepAdoption(adoptedFolder(), anAdoption())
    await expect(manage(quiet, 'other', {})).rejects.toThrow('no cluster other was adopted; there is shop')
    await expect(watchAgain(quiet, 'shop', {})).rejects.toThrow('shop is not managed here')
  })

  it('of another name than that which was typed are neither managed nor given back by a file', async () => {
    const home = await mkdtemp(join(tmpdir(), 'regent-managed-'))
    vi.stubEnv('REGENT_HOME', home)
    onTestFinished(() => rm(home, { recursive: true }))
    const file = join(home, 'shop.yaml')
    await writeFile(file, stringify(anAdoption(well)))
    const check = async () => expect.fail('nobody looks at servers that were not meant')
    const why = `${file} is of the cluster shop, and bank was asked for`
    await expect(manage(quiet, 'bank', { file, check: true }, { check })).rejects.toThrow(why)
    await expect(watchAgain(quiet, 'bank', { file })).rejects.toThrow(why)
  })

  it('that a file leaves out are not left closed by going back to watching', async () => {
    const home = await mkdtemp(join(tmpdir(), 'regent-managed-'))
    vi.stubEnv('REGENT_HOME', home)
    onTestFinished(() => rm(home, { recursive: true }))
    const file = join(home, 'shop.yaml')
    await writeFile(file, stringify(anAdoption({ ...well, looks: [{}, {}] })))
    const [dir, address] = [join(home, 'shop'), '10.0.0.1']
    await mkdir(dir)
    await writeCluster(dir, {
      ...{ version: 1, name: 'shop', number: 1, api: { host: '127.0.0.1', port: 9_500 }, far: true, store: 'file' },
      instances: [0, 1, 2].map((at) => ({
        ...{ name: `shop-${at}`, address, port: 3306 + at, adminPort: 1, agentPort: 2, streamingPort: 3 },
        ...{ volume: join(dir, `${at}`), wrapper: [] },
      })),
      ...{ hosts: [], mysql: { mysqld: ['mysqld'], mysqlbinlog: [], mysql: [], pluginDir: '', shareDir: '' } },
    } as never)
    await expect(watchAgain(quiet, 'shop', { file })).rejects.toThrow(
      `${file} does not name shop-2, which is managed: each start of that server would stay closed`,
    )
  })

  it('are all given back, and can be tried again, where one of them does not answer any more', async () => {
    const home = await mkdtemp(join(tmpdir(), 'regent-managed-'))
    vi.stubEnv('REGENT_HOME', home)
    onTestFinished(() => rm(home, { recursive: true }))
    const gone = { host: '127.0.0.1', port: 1 }
    const scene: Scene = { ...well, hosts: { 0: gone, 1: { ...gone, port: 2 }, 2: { ...gone, port: 3 } } }
    const file = join(home, 'adoption.yaml')
    await writeFile(file, stringify(anAdoption(scene)))
    const servers = looksOf(scene).map(({ host }) => ({
      ...{
        host,
        uuid: uuidOf(host.instance),
        persisted: {},
        semiSync: {},
        places: { pidFile: '/r/p', dataDir: '/d' } as FarPlaces,
      },
      access: { ...gone, instance: host.instance, port: host.port, user: 'regent', password: '', authority: undefined },
    }))
    const [check, find] = [
      async () => ({ looks: looksOf(scene), judgement: judged(scene), refusals: [] }),
      async () => ({ servers, unreached: [] }),
    ]
    const archived = join(home, 'shop', 'archives', 'shop-1', 'errant-shop-1-00ff')
    await mkdir(archived, { recursive: true })
    const printed: string[] = []
    const io: Io = { ...quiet, out: (line) => printed.push(line) }
    const once = () => manage(io, 'shop', { file }, { check, find })
    await expect(once()).rejects.toThrow('127.0.0.1:1')
    for (const { host } of servers) expect(printed.join('\n')).toContain(`${host.instance} was not given back`)
    await expect(once()).rejects.toThrow('127.0.0.1:1')
    expect(await readdir(dirname(archived))).toEqual(['errant-shop-1-00ff'])
  })

  it('that notice a silent source late are named while they are watched', () => {
    const scene = server1({ netTimeoutSeconds: 60 })
    expect(needsOf(anAdoption(scene), looksOf(scene)).notes).toEqual([
      'shop-1: a silent source is noticed after 60 s only, while Regent only watches',
      '  SET GLOBAL replica_net_timeout = 5;',
      '  in [mysqld] of my.cnf, for the next start: replica_net_timeout = 5',
    ])
  })
})

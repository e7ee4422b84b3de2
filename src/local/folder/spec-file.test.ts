import { describe, expect, test } from 'vitest'
import { composeSpec, readSpec, writeSpec } from './spec-file.ts'
import { layoutOf } from './state-layout.ts'
import { fileWith, temporaryFolder } from '../testing.ts'

describe('the spec of a local cluster', () => {
  test('has every default when nothing is said', async () => {
    expect(await composeSpec('shop', undefined, {})).toMatchObject({
      version: 1,
      mode: 'semisync',
      instances: 3,
      acks: null,
      durability: 'strict',
      failover: { automatic: true },
    })
  })

  test('takes options before the file and the file before defaults', async () => {
    const file = await fileWith('instances: 5\ndurability: available\npolicies:\n  shop-1: {promotion: never}\n')
    const spec = await composeSpec('shop', file, { instances: 4, acks: undefined })
    expect(spec).toMatchObject({
      instances: 4,
      durability: 'available',
      policies: { 'shop-1': { promotion: 'never', priority: 0 } },
    })
  })

  test('is read back as it was written', async () => {
    const layout = layoutOf(await temporaryFolder())
    const spec = await composeSpec('shop', undefined, { instances: 2 })
    await writeSpec(layout, spec)
    expect(await readSpec(layout, 'shop')).toEqual(spec)
  })

  test('has hooks as they are written, and refuses one whose secret cannot be read', async () => {
    const hook = 'webhook: {url: "https://example.com", secretFile: '
    const file = await fileWith(`hooks: {failed: [{shell: "logger {cluster}"}, {${hook}/nowhere/secret}}]}`)
    await expect(composeSpec('shop', file, {})).rejects.toThrow(
      /hooks\.failed\.1\.webhook\.secretFile: token file \/nowhere\/secret cannot be read/,
    )
    const wrong = await fileWith('hooks: {failed: [{shell: "logger {custer}"}]}')
    await expect(composeSpec('shop', wrong, {})).rejects.toThrow(/hooks\.failed\.0\.shell has the unknown placeholder/)
    const right = await fileWith('hooks: {failed: [{shell: "logger {cluster}"}]}')
    expect((await composeSpec('shop', right, {})).hooks).toEqual({ failed: [{ shell: 'logger {cluster}' }] })
  })

  test('says of a budget only what differs', async () => {
    expect((await composeSpec('shop', await fileWith('failover: {budget: {failovers: 5}}'), {})).failover).toEqual({
      automatic: true,
      budget: { failovers: 5, windowMs: 300_000 },
    })
    expect((await composeSpec('shop', await fileWith('failover: {windowMs: 0}'), {})).failover).toEqual({
      automatic: true,
      windowMs: 0,
    })
  })

  test('needs of backups no more than where they lie', async () => {
    const { backup } = await composeSpec('shop', await fileWith('backup: {store: {address: /srv/backups}}'), {})
    expect(backup).toEqual({
      store: { address: '/srv/backups' },
      schedule: '0 3 * * *',
      timeZone: 'UTC',
      retention: { last: 3, days: 7, weeks: 4 },
      archive: { everySeconds: 5 },
      heartbeat: { everySeconds: 1 },
      rehearsal: { schedule: '0 4 * * 0' },
    })
    const said =
      'backup: {store: {address: /srv/backups}, schedule: null, retention: {days: 30}, archive: {everySeconds: 0}}'
    expect((await composeSpec('shop', await fileWith(said), {})).backup).toMatchObject({
      schedule: null,
      retention: { last: 3, days: 30, weeks: 4 },
      archive: { everySeconds: 0 },
    })
  })

  const refusals: readonly (readonly [string, string | Uint8Array, RegExp])[] = [
    ['an empty file', '', /is empty/],
    ['more members than a group takes', 'mode: group\ninstances: 10', /10 instances in mode group; allowed is 1 to 9/],
    ['only a comment', '# nothing\n', /says nothing/],
    ['bytes that are not UTF-8', Uint8Array.of(0xff, 0xfe, 0x41), /not UTF-8/],
    ['more than 1 MiB', 'a: '.padEnd(1_100_000, 'x'), /larger than 1048576 bytes/],
    ['broken YAML', 'a: [1', /not valid YAML/],
    ['the same key twice', 'instances: 3\ninstances: 4', /not valid YAML/],
    ['a list', '- 1', /must be a mapping/],
    ['an unknown key', 'instanses: 3', /unknown key "instanses"; allowed are version, mode, instances/],
    [
      'an unknown key further down',
      'failover: {auto: true}',
      /failover has the unknown key "auto"; allowed are automatic, budget, acceptLoss, acceptLossUpTo, backAfterSeconds, windowMs/,
    ],
    ['a text for a number', 'instances: three', /instances is "three"; allowed is an integer from 1 to 16/],
    ['a fraction', 'instances: 2.5', /instances is 2.5; allowed is an integer from 1 to 16/],
    ['too many instances', 'instances: 17', /instances is 17; allowed is an integer from 1 to 16/],
    ['no instances', 'instances: 0', /instances is 0/],
    ['another mode', 'mode: galera', /mode is "galera"; allowed is "semisync" or "async" or "group"/],
    ['an unknown durability', 'durability: maybe', /durability is "maybe"; allowed is "strict" or "available"/],
    [
      'a negative duration',
      'failover: {windowMs: -1}',
      /failover.windowMs is -1; allowed is an integer from 0 to 86400000/,
    ],
    [
      'a budget of nothing',
      'failover: {budget: {failovers: 0}}',
      /failover.budget.failovers is 0; allowed is an integer from 1 to 16/,
    ],
    [
      'a budget without a window',
      'failover: {budget: {windowMs: 0}}',
      /failover.budget.windowMs is 0; allowed is an integer from 1000 to 86400000/,
    ],
    ['too many acknowledgements', 'acks: 3', /acks is 3.*allowed is 0 to 2/],
    ['acknowledgements in mode async', 'mode: async\nacks: 1', /acks is 1 in mode async; allowed is 0/],
    [
      'a policy for a stranger',
      'policies: {other-0: {promotion: never}}',
      /"other-0"; allowed are the instances shop-0 to shop-15/,
    ],
    ['a policy for no name of an instance', 'policies: {SHOP: {promotion: never}}', /"SHOP"/],
    [
      'an unknown promotion',
      'policies: {shop-0: {promotion: always}}',
      /policies.shop-0.promotion is "always"; allowed is "prefer" or "neutral" or "never"/,
    ],
    ['a newer version', 'version: 2', /version 2; this Regent understands up to 1/],
    [
      'a grace that is longer than the deadline',
      'switchover: {graceMs: 20000}',
      /switchover\.graceMs is 20000 and switchover\.timeoutMs is 10000: .*allowed is up to timeoutMs/,
    ],
    [
      'nobody who may be primary',
      'instances: 2\npolicies: {shop-0: {promotion: never}, shop-1: {promotion: never}}',
      /promotion: never for each of shop-0, shop-1: none of them could ever be primary/,
    ],
    [
      'a relative folder for backups',
      'backup: {store: {address: backups}}',
      /the store of backups cannot be opened: .*write the folder from \/ on/,
    ],
    [
      'credentials in the address of backups',
      'backup: {store: {address: "s3://me:secret@bucket"}}',
      /cannot be opened: (?!.*me:secret).*credentials never stand in an address/,
    ],
    [
      'an endpoint for a folder of backups',
      'backup: {store: {address: /srv/backups, endpoint: "http://127.0.0.1:9000"}}',
      /options of S3 are given for a store that is a folder/,
    ],
    ['a restore from nowhere', 'restore: {store: {address: x}, of: prod}', /the store of backups cannot be opened: /],
    ['no store of backups', 'backup: {schedule: null}', /backup lacks "store"/],
    ...(
      [
        [
          'an unknown setting of backups',
          'retain: 1',
          /backup has the unknown key "retain"; allowed are store, schedule/,
        ],
        [
          'a retention of nothing',
          'retention: {last: 0}',
          /backup\.retention\.last is 0; allowed is an integer from 1 to/,
        ],
        [
          'an archive in the past',
          'archive: {everySeconds: -1}',
          /everySeconds is -1; allowed is an integer from 0 to 3600/,
        ],
        ['a number for a schedule', 'rehearsal: {schedule: 7}', /backup\.rehearsal\.schedule is 7; allowed is /],
        ['a schedule in words', 'schedule: daily', /backup\.schedule is "daily": write five fields/],
        [
          'a day of no year',
          'rehearsal: {schedule: "0 0 31 2 *"}',
          /backup\.rehearsal\.schedule is .* a day that no year has/,
        ],
        ['an unknown time zone', 'timeZone: Berlin', /backup\.schedule is for time zone "Berlin", which is unknown/],
        [
          'an unknown time zone of no schedule',
          'timeZone: Berlin, schedule: null, rehearsal: {schedule: null}',
          /backup is for time zone "Berlin", which is unknown/,
        ],
      ] as const
    ).map(([what, said, why]) => [what, `backup: {store: {address: /srv/backups}, ${said}}`, why] as const),
    ['a key of every object', '__proto__: {instances: 1}', /has the key "__proto__", which means nothing here/],
    ['such a key further down', 'policies:\n  shop-0: {constructor: {promotion: never}}', /has the key "constructor"/],
    ['an alias that leads back to itself', 'policies: &a {shop-0: *a}', /leads back to itself/],
    ['a list without end', '['.repeat(100_000), /not valid YAML|nested more deeply/],
    ['mappings without end', `policies: ${'{a: '.repeat(500)}1${'}'.repeat(500)}`, /nested more deeply than 64 levels/],
    [
      'an alias bomb',
      `a: &a [x,x,x,x,x,x,x,x,x,x]\n${'bcdefghi'
        .split('')
        .map((letter, at) => `${letter}: &${letter} [${Array(10).fill(`*${'abcdefgh'[at]}`).join(',')}]`)
        .join('\n')}`,
      /not valid YAML/,
    ],
  ]
  test.each(refusals)('is refused for %s, saying what is allowed', async (_what, content, message) => {
    await expect(composeSpec('shop', await fileWith(content), {})).rejects.toThrow(message)
  })

  test('is refused for a file that is missing or a folder', async () => {
    const folder = await temporaryFolder()
    await expect(composeSpec('shop', `${folder}/none`, {})).rejects.toMatchObject({ code: 'REGENT_BAD_FILE' })
    await expect(composeSpec('shop', folder, {})).rejects.toThrow(/is a folder/)
  })
})

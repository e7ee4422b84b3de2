import { describe, expect, it } from 'vitest'
import { gtids } from '#topology/testing.ts'
import { judged, nowMs, type LookOverrides, type Scene } from './testing.ts'

const dead: LookOverrides = { reach: 'refused', why: 'connect ECONNREFUSED' }
const silent: LookOverrides = { reach: 'silent' }
const lost: LookOverrides = { channel: { io: 'connecting', ioErrno: 2_003 } }
const behind: LookOverrides = {
  channel: { ...lost.channel, received: gtids('shop-0', 99) },
  server: { executed: gtids('shop-0', 99) },
}
const ssh = { user: 'mysql', keyFile: '/k', knownHostsFile: '/h' }
const never = { promotion: 'never' }
const numberless = { gtidMode: 'OFF', executed: '' }

const cases: Readonly<Record<string, readonly [Scene, string]>> = {
  'that is well': [{}, 'only watched: primary shop-0 takes writes, 2 of 2 other servers follow it'],
  'with a cascade below the primary': [
    { looks: [{}, {}, { follows: 1 }] },
    'only watched: primary shop-0 takes writes, 2 of 2 other servers follow it',
  ],
  'with a cascade whose middle does not answer': [
    { looks: [{}, dead, { follows: 1 }] },
    'only watched: primary shop-0 takes writes, 0 of 2 other servers follow it',
  ],
  'whose replicas lost a dead primary': [
    { looks: [dead, lost, lost] },
    'only watched: shop-0 is dead: nobody listens there, and shop-1 and shop-2 lost it; would wait for a person (best is shop-1): no SSH, and acceptLoss is never',
  ],
  'whose hosts can be reached by SSH': [
    { adoption: { ssh }, looks: [dead, lost, lost] },
    'only watched: shop-0 is dead: nobody listens there, and shop-1 and shop-2 lost it; would promote shop-1 after reading its binlog over SSH',
  ],
  'where any loss is accepted': [
    { adoption: { failover: { acceptLoss: 'always' } }, looks: [silent, lost, lost] },
    'only watched: shop-0 is dead: it does not answer, and shop-1 and shop-2 lost it; would promote shop-1 and lose what only shop-0 holds',
  ],
  'where a loss up to a limit is accepted, and the primary was seen just before': [
    {
      adoption: { failover: { acceptLoss: 'upTo', acceptLossUpTo: { seconds: 1, transactions: 0 } } },
      looks: [dead, lost],
    },
    'only watched: shop-0 is dead: nobody listens there, and shop-1 lost it; would promote shop-1 and lose what only shop-0 holds',
  ],
  'where more is lost than that': [
    {
      adoption: { failover: { acceptLoss: 'upTo', acceptLossUpTo: { seconds: 1, transactions: 0 } } },
      looks: [{ ...dead, server: { executed: gtids('shop-0', 101) } }, lost],
    },
    'only watched: shop-0 is dead: nobody listens there, and shop-1 lost it; would wait for a person (best is shop-1): no SSH, and acceptLoss is upTo',
  ],
  'whose writes waited for replicas': [
    { adoption: { mode: 'semisync' }, looks: [{ ...dead, server: { semiSyncSource: true } }, lost, lost] },
    'only watched: shop-0 is dead: nobody listens there, and shop-1 and shop-2 lost it; would promote shop-1, which holds all that was acknowledged',
  ],
  'whose preferred server has received less': [
    { adoption: { ssh }, hosts: { 1: { promotion: 'prefer' } }, looks: [dead, behind, lost] },
    'only watched: shop-0 is dead: nobody listens there, and shop-1 and shop-2 lost it; would promote shop-2 after reading its binlog over SSH',
  ],
  'whose preferred server has received less than one that may lead, in mode semisync': [
    { adoption: { ssh, mode: 'semisync' }, hosts: { 1: { promotion: 'prefer' } }, looks: [dead, behind, lost] },
    'only watched: shop-0 is dead: nobody listens there, and shop-1 and shop-2 lost it; would promote shop-2 after reading its binlog over SSH',
  ],
  'whose preferred server lacks most of what one has that may never lead, in mode semisync': [
    {
      adoption: { ssh, mode: 'semisync' },
      hosts: { 1: { promotion: 'prefer' }, 3: { promotion: 'never' } },
      looks: [dead, behind, lost, { channel: { ...lost.channel, received: gtids('shop-0', 102) } }],
    },
    'only watched: shop-0 is dead: nobody listens there, and shop-1, shop-2 and shop-3 lost it; would promote shop-1, which first gets what only shop-3 has after reading its binlog over SSH',
  ],
  'whose preferred server lacks most of what one has that may never lead': [
    {
      adoption: { ssh },
      hosts: { 1: { promotion: 'prefer' }, 3: { promotion: 'never' } },
      looks: [dead, behind, lost, { channel: { ...lost.channel, received: gtids('shop-0', 102) } }],
    },
    'only watched: shop-0 is dead: nobody listens there, and shop-1, shop-2 and shop-3 lost it; would promote shop-2, which first gets what only shop-3 has after reading its binlog over SSH',
  ],
  'whose preferred server has received as much': [
    { adoption: { ssh }, hosts: { 2: { promotion: 'prefer' } }, looks: [dead, lost, lost] },
    'only watched: shop-0 is dead: nobody listens there, and shop-1 and shop-2 lost it; would promote shop-2 after reading its binlog over SSH',
  ],
  'whose most advanced server may never lead': [
    {
      adoption: { ssh },
      hosts: { 2: { promotion: 'never' } },
      looks: [dead, lost, { channel: { ...lost.channel, received: gtids('shop-0', 102) } }],
    },
    'only watched: shop-0 is dead: nobody listens there, and shop-1 and shop-2 lost it; would promote shop-1, which first gets what only shop-2 has after reading its binlog over SSH',
  ],
  'without GTIDs, whose second replica has read more of the binlog': [
    {
      adoption: { ssh },
      looks: [
        { ...dead, server: numberless },
        { server: numberless, channel: { ...lost.channel, read: { file: 'binlog.000009', position: 900 } } },
        { server: numberless, channel: { ...lost.channel, read: { file: 'binlog.000010', position: 4 } } },
      ],
    },
    'only watched: shop-0 is dead: nobody listens there, and shop-1 and shop-2 lost it; would promote shop-2 after reading its binlog over SSH',
  ],
  'nobody of which could lead': [
    { looks: [dead, { ...lost, server: { logBin: false } }, { ...lost, server: { logReplicaUpdates: false } }] },
    'only watched: shop-0 is dead: nobody listens there, and shop-1 and shop-2 lost it; would wait for a person: nobody may lead',
  ],
  'whose replicas still receive': [
    { looks: [silent, {}, lost] },
    'only watched: would wait, for shop-0 may be alive: it does not answer; shop-1 still shows a connection (after 4 s of silence no more)',
  ],
  'whose replicas were looked at before the primary fell silent': [
    {
      looks: [
        { ...dead, sinceMs: nowMs - 1_000 },
        { ...lost, askedMs: nowMs - 1_500 },
      ],
    },
    'only watched: would wait, for shop-0 may be alive: nobody listens there, and none of its replicas can testify',
  ],
  'whose replicas were stopped by hand': [
    { looks: [dead, { channel: { io: 'no' } }] },
    'only watched: would wait, for shop-0 may be alive: nobody listens there, and none of its replicas can testify',
  ],
  'whose replicas are refused by the primary': [
    { looks: [silent, { channel: { io: 'connecting', ioErrno: 1_045 } }, lost] },
    'only watched: would wait, for shop-0 may be alive: it does not answer; shop-1 reached it and was refused',
  ],
  ...Object.fromEntries(
    // Its account is locked; its source wants TLS; its source’s certificate will not do; the same of its login.
    [3_118, 3_159, 2_026, 2_061].map((ioErrno): [string, readonly [Scene, string]] => [
      `whose replica was answered by the primary with ${ioErrno}`,
      [
        { looks: [silent, { channel: { io: 'connecting', ioErrno } }, lost] },
        'only watched: would wait, for shop-0 may be alive: it does not answer; shop-1 reached it and was refused',
      ],
    ]),
  ),
  'whose primary cannot be asked': [
    { looks: [{ reach: 'unasked', why: 'self-signed certificate' }, lost, lost] },
    'only watched: would wait, for shop-0 may be alive: Regent could not ask it (self-signed certificate)',
  ],
  'whose primary has just now failed': [
    { looks: [{ ...dead, sinceMs: nowMs - 100 }, lost, lost] },
    'only watched: would wait, for shop-0 may be alive: nobody listens there, since just now',
  ],
  'whose primary has too many connections': [
    { looks: [{ reach: 'full' }, lost, lost] },
    'only watched: would do nothing, for primary shop-0: it lives, with too many connections',
  ],
  'whose primary refuses the account': [
    { looks: [{ reach: 'lockedOut' }, lost, lost] },
    'only watched: would do nothing, for primary shop-0: it lives, and refuses Regent’s account',
  ],
  'of servers that have nothing to do with each other': [
    { looks: [{ server: { readOnly: true } }, { follows: null, server: { readOnly: true } }] },
    'only watched: would do nothing, for nobody is the primary',
  ],
}

describe('Of a cluster', () => {
  it.each(Object.entries(cases))('%s this is said', (_, [scene, sentence]) => {
    const { sentence: said, would } = judged(scene)
    expect(said).toEqual(sentence)
    expect(would !== null).toBe(sentence.includes('would promote'))
    expect(said.news.length).toBeLessThan(190)
  })
})

describe('Of a death', () => {
  const held: Scene = {
    adoption: { mode: 'semisync' },
    looks: [{ ...dead, server: { semiSyncSource: true } }, lost, lost],
  }
  const words = 'nobody listens there, and shop-1 and shop-2 lost it'
  const missing = { server: { executed: gtids('shop-0', 101) } }

  it.each<[string, Scene, object | null]>([
    ['nothing, while the primary serves', {}, null],
    ['that all is held which was acknowledged', held, { words, loss: '', isLossAccepted: true }],
    [
      'what is missing where its writes had come to wait for nobody',
      { ...held, looks: [{ ...dead, server: { semiSyncSource: true, semiSyncWaits: false } }, lost, lost] },
      {
        words,
        loss: 'all that shop-0 held 200 ms ago is held by others; what it wrote since is not known',
        isLossAccepted: false,
      },
    ],
    [
      'what is missing where the replica that acknowledged may be lost as well',
      { ...held, looks: [{ ...dead, server: { semiSyncSource: true } }, lost, { reach: 'refused' }] },
      {
        words: 'nobody listens there, and shop-1 lost it',
        loss: 'all that shop-0 held 200 ms ago is held by others; what it wrote since is not known',
        isLossAccepted: false,
      },
    ],
    [
      'what is missing where nobody accepts that',
      { looks: [{ ...dead, ...missing }, lost, lost] },
      {
        words,
        loss: '1 transaction of what shop-0 held 200 ms ago: nobody else has that; what it wrote since is not known',
        isLossAccepted: false,
      },
    ],
    [
      'what is missing where nobody may lead, and that it is accepted',
      { adoption: { failover: { acceptLoss: 'always' } }, hosts: { 1: never, 2: never }, looks: [dead, lost, lost] },
      {
        words,
        loss: 'all that shop-0 held 200 ms ago is held by others; what it wrote since is not known',
        isLossAccepted: true,
      },
    ],
  ])('a person is told %s', (_, scene, death) => {
    expect(judged(scene).death).toEqual(death)
  })
})

const codes = (scene: Scene): readonly string[] =>
  judged(scene).analyses.map(({ code, instance }) => `${code} ${instance}`)

describe('What is wrong', () => {
  it.each<[string, Scene, readonly string[]]>([
    ['nothing', {}, []],
    ['a replica that lags', { looks: [{}, { channel: { lagSeconds: 31 } }] }, ['ReplicaLagging shop-1']],
    ['none that may lag', { hosts: { 1: { lagOk: true } }, looks: [{}, { channel: { lagSeconds: 31 } }] }, []],
    [
      'a stopped applier',
      { looks: [{}, { channel: { sql: false, sqlError: 'HA_ERR' } }] },
      ['ReplicaNotReplicating shop-1'],
    ],
    ['a receiver that cannot connect', { looks: [{}, lost] }, ['ReplicaNotReplicating shop-1']],
    ['a filter', { looks: [{}, { channel: { filtered: true } }] }, ['ReplicationFilter shop-1']],
    ['a replica that takes writes', { looks: [{}, { server: { readOnly: false } }] }, ['TwoWritablePrimaries shop-1']],
    ['a primary that takes none', { looks: [{ server: { readOnly: true } }, {}] }, ['NoWritablePrimary shop-0']],
    [
      'transactions that the primary has not',
      { looks: [{}, { server: { executed: `${gtids('shop-0', 100)},${gtids('shop-1', 3)}` } }] },
      ['ErrantTransactions shop-1'],
    ],
    [
      'a primary of before that comes back with writes of its own',
      {
        looks: [
          { follows: null, server: { executed: gtids('shop-0', 102) } },
          { follows: null, server: { readOnly: false } },
          { follows: 1 },
        ],
      },
      ['TwoWritablePrimaries shop-0', 'ReplicaNotReplicating shop-0', 'ErrantTransactions shop-0'],
    ],
    [
      'no such transactions where the look at the primary may be the older one',
      { looks: [{ askedMs: nowMs - 5_000 }, { server: { executed: gtids('shop-1', 3) } }] },
      [],
    ],
    [
      'a source that is none of the cluster',
      { looks: [{}, { channel: { sourceHost: '10.9.9.9', sourceUuid: 'other' } }, {}] },
      ['WrongSource shop-1'],
    ],
    [
      'two that follow each other, the one that takes writes being the primary',
      { looks: [{ follows: 1, server: { readOnly: true } }, { server: { readOnly: false } }] },
      ['PrimaryHasSource shop-0'],
    ],
    [
      'an account that may not see replication',
      { looks: [{}, { server: { lacks: ['REPLICATION CLIENT'] } }] },
      ['InstanceUnreachable shop-1'],
    ],
  ])('is %s', (_, scene, found) => {
    expect(codes(scene)).toEqual(found)
  })

  it('is found in a cascade as well, whose middle is no primary', () => {
    const { primary, tree, analyses } = judged({ looks: [{}, {}, { follows: 1 }] })
    expect(primary).toBe('shop-0')
    expect(tree.roots).toMatchObject([{ instance: 'shop-0', followers: [{ instance: 'shop-1', followers: [{}] }] }])
    expect(analyses).toEqual([])
  })

  it('a server that others know by another name is found by it', () => {
    const channel = { sourceHost: 'db.example', sourceUuid: '' }
    const looks = [{}, { channel }, { channel }]
    expect(judged({ looks }).analyses).not.toEqual([])
    expect(judged({ hosts: { 0: { alsoKnownAs: ['db.example'] } }, looks }).analyses).toEqual([])
  })
})

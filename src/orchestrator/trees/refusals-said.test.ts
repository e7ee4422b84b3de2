import { expect, test } from 'vitest'
import { refuses, treeOf, type Refusal } from './testing.ts'

/** Each check by which orchestrator refuses to note something, or to read, with the function that has the check. */
const notKnown = 'Cannot read instance: nobody:3306'
const noCluster = 'Unable to determine cluster name. clusterHint=nobody'

const ofServers = [
  ...[
    'instance',
    'instance-replicas',
    'forget',
    'end-downtime',
    'end-maintenance',
    'in-maintenance',
    'tags',
    'resolve',
  ],
  ...['recover', 'recover-lite', 'take-master', 'take-siblings', 'move-up', 'make-co-master', 'detach-replica'],
  ...['set-read-only', 'set-writeable', 'skip-query', 'flush-binary-logs', 'gtid-errant-reset-master', 'enable-gtid'],
]
const ofClusters = [
  ...['cluster', 'cluster-info', 'cluster-osc-replicas', 'master', 'topology', 'topology-tabulated', 'topology-tags'],
  ...['forget-cluster', 'downtimed', 'problems', 'heuristic-cluster-pool-instances', 'replication-analysis'],
  ...['submit-masters-to-kv-stores', 'active-cluster-recovery'],
]

refuses('FigureInstanceKey', [
  ...ofServers.map((path): Refusal => [path, {}, `${path}/nobody/3306`, notKnown]),
  ['no number of a port', {}, 'instance/shop-1/x', 'Cannot read instance: shop-1:x'],
  ['a part that several have', {}, 'instance/shop-/3306', 'Cannot read instance: shop-:3306'],
])

refuses(
  'FigureClusterName',
  ofClusters.map((path): Refusal => [path, {}, `${path}/nobody`, noCluster]),
)

refuses('Maintenance', [
  [
    'BeginBoundedMaintenance: somebody has it',
    { held: 1 },
    'begin-maintenance/shop-1/3306/bob/other',
    'Cannot begin maintenance for instance: shop-1:3306; maintenance reason: other',
  ],
  ['EndMaintenance: no number', {}, 'end-maintenance/x', 'end-maintenance: x is no number of a maintenance'],
])

test('To end a maintenance or a downtime that nobody has is no error, as at orchestrator', async () => {
  const { get } = await treeOf()
  for (const path of ['end-maintenance/shop-1/3306', 'end-maintenance/7', 'end-downtime/shop-1/3306'])
    expect([path, (await get(path)).body.Code]).toEqual([path, 'OK'])
})

const duration = (text: string): string =>
  `Downtime: duration ${text} is not understood; allowed are 30s, 10m, 1h, 2d, 1w or seconds`

refuses('begin-downtime', [
  ['SimpleTimeToSeconds: no time', {}, 'begin-downtime/shop-1/3306/ann/disk/soon', duration('soon')],
  ['BeginDowntime: below zero', {}, 'begin-downtime/shop-1/3306/ann/disk/-5m', duration('-5m')],
  ['FigureInstanceKey', {}, 'begin-downtime/nobody/3306/ann/disk/5m', notKnown],
])

test.each(['', '/0', '/0s', '/00m'])('BeginDowntime: a duration of %j is ten minutes', async (text) => {
  const { get, asked } = await treeOf()
  expect((await get(`begin-downtime/shop-1/3306/ann/disk${text}`)).body.Code).toBe('OK')
  expect(asked).toMatchObject([{ operation: 'downtime', request: { forMs: 600_000 } }])
})

refuses('Tags', [
  ['NewTag: no name', {}, 'tag/shop-1/3306?tag=', /^tag is not understood/],
  ['ParseTag', {}, 'tag/shop-1/3306?tag==x', /^tag =x is not understood/],
  ['ParseIntersectTags', {}, 'tagged?tag=role,=x', /^tags role,=x are not understood/],
  ['ParseTag, of all', {}, 'untag-all?tag==x', /^tag =x is not understood/],
  ['ReadInstanceTag: none', {}, 'tag-value/shop-1/3306?tag=role', 'tag role not found for shop-1:3306'],
])

test('ParseTag: an exclamation mark means those without, too', async () => {
  const { get } = await treeOf({ follows: [null, 0] })
  await get('tag/shop-1/3306?tag=role%3Dreport')
  expect((await get('tagged?tag=!role')).body).toEqual([{ Hostname: 'shop-0', Port: 3306 }])
})

refuses('register-candidate', [
  [
    'ParseCandidatePromotionRule: must',
    {},
    'register-candidate/shop-1/3306/must',
    'CandidatePromotionRule: must not supported yet',
  ],
  [
    'ParseCandidatePromotionRule: none of them',
    {},
    'register-candidate/shop-1/3306/always',
    'Invalid CandidatePromotionRule: always; allowed are prefer, neutral, prefer_not and must_not',
  ],
  ['FigureInstanceKey', {}, 'register-candidate/nobody/3306/prefer', notKnown],
])

const acks = ['ack-recovery/cluster/shop', 'ack-recovery/instance/shop-1/3306', 'ack-recovery/1', 'ack-all-recoveries']

refuses('Acknowledgements', [
  ...acks.flatMap((path): readonly Refusal[] => [
    [`${path}: without a comment`, {}, path, 'No acknowledge comment given'],
    [`${path}: with an empty one`, {}, `${path}?comment=%0A`, 'No acknowledge comment given'],
  ]),
  ['FigureClusterName', {}, 'ack-recovery/cluster/nobody?comment=seen', noCluster],
  ['FigureInstanceKey', {}, 'ack-recovery/instance/nobody/3306?comment=seen', notKnown],
  ['ParseInt', {}, 'ack-recovery/x?comment=seen', 'Cannot read recovery: x is none of those that are kept'],
])

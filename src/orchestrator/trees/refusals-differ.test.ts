import { expect, test } from 'vitest'
import { gtids } from '#topology/testing.ts'
import { routes } from '../routes/table.ts'
import { channel, differs, of, places, unseen, type Difference, type Otherwise } from './testing.ts'

/** Checks of orchestrator that are answered otherwise on purpose: what is answered, and where the reason stands. */
const guide = 'docs/guide/from-orchestrator.md'
const adopt = 'docs/guide/adopt.md'
const here = 'Regent only watches that cluster, and does not do this there: please do it manually. '
const no = (path: string, at: number, why: string): string =>
  `ERROR: ${path}: refused for shop-${at}:3306, in shop: ${here}${why}`

differs('Other ways of moving', [
  [
    'MatchBelow: PseudoGTIDPattern is not configured',
    {},
    'match/shop-2/3306/shop-4/3306',
    'OK: Instance shop-2:3306 relocated below shop-4:3306',
    ['match', /there are no pseudo-GTIDs/],
  ],
  [
    'MatchBelow: itself',
    {},
    'match-below/shop-2/3306/shop-2/3306',
    /^ERROR: shop-2:3306 cannot replicate from shop-2:3306/,
    ['match-below', /there are no pseudo-GTIDs/],
  ],
  [
    'MatchUp: not a replica',
    {},
    'match-up/shop-0/3306',
    'ERROR: instance is not a replica: shop-0:3306',
    ['match-up', /as move-up/],
  ],
  [
    'MatchUpReplicas, MultiMatchReplicas: below',
    {},
    'match-up-replicas/shop-0/3306',
    'ERROR: instance is not a replica: shop-0:3306',
    ['match-up-replicas', /as move-up-replicas/],
  ],
  [
    'MoveEquivalent: no equivalent coordinates',
    {},
    'move-equivalent/shop-2/3306/shop-4/3306',
    'OK: Instance shop-2:3306 relocated below shop-4:3306',
    ['move-equivalent', /places that are the same in two binlogs are not kept/],
  ],
  [
    'RelocateBelow: a group secondary, or primary: without a channel it follows nobody',
    of(4, { view: { follows: null } }),
    'relocate/shop-4/3306/shop-1/3306',
    /^ERROR: Relocating shop-4:3306 below shop-1:3306 turns to be too complex/,
    [adopt, /Group Replication is not understood here/],
  ],
  [
    'MoveBelowGTID: a group secondary',
    of(4, { view: { follows: null } }),
    'move-below-gtid/shop-4/3306/shop-1/3306',
    'ERROR: instance is not a replica: shop-4:3306',
    [guide, /Members of a replication group are not known as such/],
  ],
  [
    'IsBinlogServer, in ten places: there are none',
    {},
    'regroup-replicas-bls/shop-1/3306',
    no('regroup-replicas-bls', 1, 'there are no binlog servers'),
    [guide, /There are no binlog servers, and no pseudo-GTIDs/],
  ],
  [
    'LowerReplicaVersionAllowed',
    of(2, { view: { server: { version: '8.4.1' } } }),
    'relocate/shop-2/3306/shop-4/3306',
    /^ERROR: .*which is lower than 9\.7\.4/,
    [guide, /LowerReplicaVersionAllowed .*none: a replica of an older series never follows a newer server/],
  ],
  [
    'MoveUpReplicas does not ask CanMove',
    of(2, channel({ sqlRunning: false })),
    'move-up-replicas/shop-1/3306',
    /^OK: Moved up 1 replicas of shop-1:3306; 1 errors: \[shop-2:3306: instance is not replicating\]/,
    ['move-up-replicas', /Each has to replicate without much lag, as for move-up/],
  ],
  [
    'MakeCoMaster: a master that follows somebody who is not known is a real one',
    of(0, channel({ sourceHost: '10.0.0.9', sourceUuid: '' })),
    'make-co-master/shop-1/3306',
    'ERROR: shop-0:3306 is not a real master; it replicates from: 10.0.0.9:3306',
    ['make-co-master', /the master follows a server outside of the cluster/],
  ],
  [
    'TakeMaster: a master that is not known is no error, and nothing is done',
    of(1, channel({ sourceHost: '10.0.0.9', sourceUuid: '' })),
    'take-master/shop-1/3306',
    'ERROR: Cannot GetInstanceMaster() for shop-1:3306: it has no master here',
    ['take-master', /An error where that source is not known/],
  ],
  ...['make-master', 'make-local-master', 'regroup-replicas', 'regroup-replicas-gtid', 'regroup-replicas-pgtid'].map(
    (path): Difference => [
      `${path}: MakeMaster, MakeLocalMaster, RegroupReplicas`,
      {},
      `${path}/shop-1/3306`,
      new RegExp(`^ERROR: ${path}: refused for shop-1:3306, in shop: ${here}[a-z].{20}`),
      [path, /please do it manually\. [a-z].{20}/],
    ],
  ),
])

differs('Other changes of a server', [
  [
    'SkipQuery: not a replica, a running SQL thread, no error, MariaDB',
    {},
    'skip-query/shop-2/3306',
    no('skip-query', 2, 'A skipped transaction makes other data of a replica, and nobody sees that by its GTIDs'),
    ['skip-query', /A skipped transaction makes other data of a replica/],
  ],
  [
    'EnableGTID: it has them already, or cannot',
    of(2, places),
    'enable-gtid/shop-2/3306',
    /^ERROR: enable-gtid: refused/,
    ['enable-gtid', /gtid_mode is set on each server first/],
  ],
  [
    'DisableGTID: it has none, or cannot',
    {},
    'disable-gtid/shop-2/3306',
    /^ERROR: disable-gtid: refused/,
    ['disable-gtid', /Without GTIDs nobody could tell what a replica holds/],
  ],
  [
    'PurgeBinaryLogsTo: a replica has not applied that yet; no file',
    {},
    'purge-binary-logs/shop-0/3306/binlog.000003',
    no('purge-binary-logs', 0, 'Backups and readers that Regent does not know of may need them'),
    ['purge-binary-logs', /Backups and readers that Regent does not know of/],
  ],
  [
    'DelayReplication: no number, below zero',
    {},
    'delay-replication/shop-2/3306/-1',
    /^ERROR: delay-replication: refused/,
    ['delay-replication', /its owner knows/],
  ],
  [
    'ChangeMasterCredentials: no user, running replication',
    {},
    'change-master-credentials/shop-2/3306',
    /^ERROR: change-master-credentials: refused/,
    ['change-master-credentials', /told to a server that follows nobody yet/],
  ],
  ['KillQuery', {}, 'kill-query/shop-2/3306/7', /^ERROR: kill-query: refused/, ['kill-query', /use KILL in MySQL/]],
  [
    'MasterEquivalent: no place',
    {},
    'master-equivalent/shop-2/3306/binlog.000003/x',
    /^ERROR: master-equivalent: refused/,
    ['master-equivalent', /Places that are the same in two binlogs are not kept/],
  ],
  [
    'RegisterHostnameUnresolve',
    {},
    'register-hostname-unresolve/shop-2/3306/db',
    /^ERROR: register-hostname-unresolve: refused/,
    ['register-hostname-unresolve', /alsoKnownAs/],
  ],
  [
    'LocateErrantGTID: none',
    {},
    'locate-gtid-errant/shop-2/3306',
    'OK: located errant GTID',
    ['locate-gtid-errant', /Nothing errant is no error/],
  ],
  [
    'LocateErrantGTID: purged, or somewhere',
    of(2, { server: { errant: gtids('shop-2', 1) } }),
    'locate-gtid-errant/shop-2/3306',
    no('locate-gtid-errant', 2, 'Binlogs of servers of others are not read: mysqlbinlog shows where a GTID is'),
    ['locate-gtid-errant', /mysqlbinlog shows where a GTID is/],
  ],
  [
    'ErrantGTIDInjectEmpty: any number',
    of(2, { server: { errant: gtids('shop-2', 10_001) } }),
    'gtid-errant-inject-empty/shop-2/3306',
    'ERROR: gtid-errant-inject-empty: 10001 transactions are more than 10000; seed shop-2:3306 again',
    ['gtid-errant-inject-empty', /at most 10000 transactions at once/],
  ],
  [
    'any: a MariaDB',
    of(2, { server: { product: 'MariaDB' } }),
    'detach-replica/shop-2/3306',
    /^ERROR: shop-2:3306 is a MariaDB/,
    [guide, /A MariaDB is not moved/],
  ],
])

const lost: Otherwise = channel({ ioRunning: 'connecting', ioError: 'error connecting to source' })
const death = { words: 'nobody listens there', loss: 'what it wrote since is not known', isLossAccepted: false }

differs('Another server leads otherwise', [
  [
    'GracefulMasterTakeover: a designated server that is not known',
    {},
    'graceful-master-takeover-auto/shop/nobody/3306',
    'ERROR: Cannot read instance: nobody:3306',
    ['graceful-master-takeover-auto', /A designated server that is not known is refused/],
  ],
  [
    'ForceMasterFailover: it trusts who asks',
    { follows: [null, 0, 0], servers: { 0: unseen, 1: lost, 2: lost } },
    'force-master-failover/shop',
    /^ERROR: shop-0:3306 may be alive/,
    ['force-master-failover', /Refused while nothing proves that it is lost: two would take writes/],
  ],
  [
    'CheckAndRecover: DeadMaster, where something may be lost',
    { follows: [null, 0, 0], servers: { 0: unseen, 1: lost, 2: lost }, death },
    'recover/shop-0/3306',
    /^ERROR: Recovery not attempted: what it wrote since is not known, and failover\.acceptLoss/,
    ['recover', /where failover\.acceptLoss of the adoption allows/],
  ],
  [
    'isValidAsCandidateSiblingOfIntermediateMaster: one that is behind',
    {
      servers: {
        ...{ 1: { ...unseen, channel: { applied: { file: 'binlog.000009', position: 4 } } } },
        ...{ 2: lost, 3: lost },
      },
    },
    'recover/shop-1/3306',
    'OK: Recovery executed on shop-1:3306',
    [guide, /A sibling that is behind takes them too: by GTIDs nothing is left out/],
  ],
  [
    'RecoverDeadCoMaster: somebody holds more',
    {
      follows: [1, 0, 0],
      servers: {
        0: unseen,
        1: lost,
        2: { view: { server: { ...lost.view?.server, executed: gtids('shop-0', 101) } } },
      },
      death,
    },
    'recover/shop-0/3306',
    /^ERROR: Recovery not attempted: shop-2:3306 holds what shop-1:3306 has not/,
    [guide, /refused where a replica holds what the other one has not/],
  ],
])

differs('A candidate, another cluster, a ring', [
  [
    'replacePromotedReplicaWithCandidate: a candidate that cannot lead',
    {
      follows: [null, 0, 0],
      servers: { 0: unseen, 1: lost, 2: { ...lost, server: { logBin: false } } },
      death: { ...death, isLossAccepted: true },
    },
    'recover/shop-0/3306/shop-2/3306',
    /^ERROR: Recovery not attempted: shop-2:3306: instance does not have binary logs enabled/,
    ['recover', /A server that is named and cannot lead is refused/],
  ],
  [
    'ForceMasterTakeover: the same',
    {
      follows: [null, 0, 0],
      servers: { 0: unseen, 1: lost, 2: { ...lost, server: { logBin: false } } },
      death,
    },
    'force-master-takeover/shop/shop-2/3306',
    'ERROR: shop-2:3306: instance does not have binary logs enabled',
    ['force-master-takeover', /A server that is named and cannot lead is refused/],
  ],
  [
    'Repoint trusts who asks',
    {},
    'repoint/shop-1/3306/shop-2/3306',
    'ERROR: repoint: shop-2:3306 is a descendant of shop-1:3306',
    ['repoint', /refused, too, where that would make a ring/],
  ],
  [
    'MoveBelowGTID does not ask IsDescendantOf',
    {},
    'move-below-gtid/shop-1/3306/shop-2/3306',
    'ERROR: relocate: shop-2:3306 is a descendant of shop-1:3306',
    ['move-below-gtid', /refused, too, where that would make a ring/],
  ],
])

differs('What is said of servers', [
  [
    'ForgetInstance: it leads',
    {},
    'forget/shop-0/3306',
    /^ERROR: shop-0:3306 leads shop/,
    ['forget', /refused for the one that leads/],
  ],
  [
    'SetClusterAliasManualOverride: a cluster that is not known',
    {},
    'set-cluster-alias/nobody?alias=x',
    /^ERROR: Unable to determine cluster name/,
    ['set-cluster-alias', /Refused for a cluster that is not known/],
  ],
  [
    'ApplyPoolInstances: a server that is not known',
    {},
    'submit-pool-instances/web?instances=nobody:3306',
    'ERROR: Cannot read instance: nobody:3306',
    ['submit-pool-instances', /a list of which nobody is known is refused/],
  ],
  [
    'RegisterCandidateInstance: nobody is left',
    { follows: [null] },
    'register-candidate/shop-0/3306/must_not',
    /^ERROR: no instance of shop could be primary any more/,
    ['register-candidate', /a rule that leaves nobody is refused/],
  ],
  [
    'AcknowledgeRecovery: one that is not kept',
    {},
    'ack-recovery/12?comment=seen',
    /^ERROR: Cannot read recovery: 12/,
    ['ack-recovery/:id', /kept with the recovery/],
  ],
])

test('Every route that refuses, or does less than at orchestrator, says why', () => {
  const without = routes.filter(
    ({ does, differs: why = '' }) =>
      /^refuses|^nothing|^an empty|otherwise refuses|^the same$/.test(does) && why === '',
  )
  const known = ['search/:searchString', 'ack-recovery/cluster/alias/:clusterAlias']
  expect(without.map(({ path }) => path).filter((path) => !known.includes(path))).toEqual([])
  for (const { path, watched = '' } of routes)
    if (watched.includes('please do it manually'))
      expect([path, watched]).toEqual([path, expect.stringMatching(/manually\. .{20}/)])
})

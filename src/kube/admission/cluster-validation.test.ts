import { describe, expect, it } from 'vitest'
import { podTemplateOf } from '../pods/pod-template.ts'
import { validateMySQLCluster, whyUnfollowable } from './cluster-validation.ts'
import type { MySQLCluster } from '../spec/mysql-cluster.ts'
import type { MySQLClusterStatus } from '../spec/status-schema.ts'
import { aCluster } from '../testing.ts'

const safe = { image: 'mysql:8.4.3' }
const siblings = {
  topologyKey: 'kubernetes.io/hostname',
  labelSelector: { matchLabels: { 'regent.dev/cluster': 'shop' } },
}
const required = { requiredDuringSchedulingIgnoredDuringExecution: [siblings] }
const refusalsOf = (next: MySQLCluster, before?: MySQLCluster) =>
  validateMySQLCluster(next, before).refusals.map(({ code, message }) => [code, message])

/** As YAML makes of a field with nothing behind, where the API server takes everything as it is. */
const empty = {
  resources: { requests: { cpu: null }, limits: null },
  agentResources: { requests: null },
  router: { replicas: 1, resources: { limits: null } },
  scheduling: {
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions: null }] },
      },
      podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: 'zone', labelSelector: null }] },
      podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: null },
    },
  },
  lifecycle: { open: true },
  pod: { containers: [{ name: 'exporter', image: 'x:1', ports: null }], volumes: [{ name: 'v', emptyDir: null }] },
}

describe('a field with nothing behind', () => {
  it('says nothing, where Kubernetes would take it as it is', () => {
    expect(refusalsOf(aCluster({ ...safe, ...empty }))).toEqual([])
    expect(whyUnfollowable(aCluster({ ...safe, ...empty }))).toBe('')
    expect(() =>
      podTemplateOf(aCluster({ ...safe, ...empty }), { mysql: 'mysql:8.4.3', regent: 'regent:1' }),
    ).not.toThrow()
  })

  it('hides nothing that stands beside', () => {
    const resources = { requests: { cpu: '2', memory: null }, limits: { cpu: '1' } }
    expect(refusalsOf(aCluster({ ...safe, resources }))).toEqual([
      ['REGENT_BAD_REQUEST', 'spec.resources.requests.cpu is "2"; allowed is at most its limit, 1'],
    ])
  })
})

describe('a new cluster', () => {
  it('may be as short as it can be', () => {
    expect(validateMySQLCluster(aCluster(safe))).toEqual({ refusals: [], warnings: [] })
    const bare = { ...aCluster(), spec: { storage: { size: '1Gi' }, ...safe } } as unknown as MySQLCluster
    expect(validateMySQLCluster(bare)).toEqual({ refusals: [], warnings: [] })
  })

  const refusals: readonly (readonly [string, object, string, string])[] = [
    [
      'fields of another type',
      { instances: 'three' },
      'REGENT_BAD_REQUEST',
      'spec: instances is "three"; allowed is an integer from 1 to 16',
    ],
    [
      'unknown fields',
      { replicas: 3 },
      'REGENT_BAD_REQUEST',
      'spec: the top level has the unknown key "replicas"; allowed are image,',
    ],
    [
      'as many acknowledgements as instances',
      { acks: 3 },
      'REGENT_BAD_REQUEST',
      'spec.acks is 3; allowed is less than spec.instances, 3: only replicas acknowledge',
    ],
    [
      'more members than a group takes',
      { mode: 'group', instances: 10 },
      'REGENT_BAD_REQUEST',
      'spec of shop: 10 instances in mode group; allowed is 1 to 9: a MySQL replication group takes no more members',
    ],
    [
      'strangers as primary',
      { primary: { never: ['mall-1'] } },
      'REGENT_BAD_REQUEST',
      'spec of shop: primary names "mall-1"; allowed are the instances shop-0 to shop-15',
    ],
    [
      'managed settings by any name',
      { settings: { 'skip-slave-start': '0' } },
      'REGENT_BAD_REQUEST',
      'spec.settings: skip-slave-start is not for you to set: Regent manages skip_replica_start',
    ],
    [
      'an old server',
      { image: 'mysql:5.7' },
      'REGENT_MYSQL_TOO_OLD',
      'spec.image is "mysql:5.7"; allowed is MySQL 8.0.26 or newer',
    ],
    ...[
      'mysql:',
      'mysql:8.4:9',
      'mysql:8.4@',
      'MySQL:8.4',
      'registry.example/Team/mysql:8.4',
      'mysql:8.4/x:',
      '/mysql:8.4',
      'mysql:-8',
    ].map(
      (image) =>
        [
          `image ${image}`,
          { image },
          'REGENT_BAD_REQUEST',
          `spec.image is "${image}"; allowed is an image such as`,
        ] as const,
    ),
    ...[3306, 3307, 9400, 9401].map(
      (containerPort) =>
        [
          `a container with port ${containerPort}`,
          { pod: { containers: [{ name: 'tail', image: 'tail:1', ports: [{ containerPort }] }] } },
          'REGENT_BAD_REQUEST',
          `spec.pod.containers: tail has port ${containerPort}; allowed is any but 3306, 3307, 9400, 9401`,
        ] as const,
    ),
    ...['2G', '2147483648', '3g'].map(
      (size) =>
        [
          `a buffer pool of ${size} in 2Gi of memory`,
          { settings: { 'innodb-buffer-pool-size': size }, resources: { limits: { memory: '2Gi' } } },
          'REGENT_BAD_REQUEST',
          `spec.settings.innodb_buffer_pool_size is "${size}"; allowed is less than spec.resources.limits.memory, 2Gi`,
        ] as const,
    ),
    [
      'one setting in two spellings',
      { settings: { max_connections: '100', 'max-connections': '200' } },
      'REGENT_BAD_REQUEST',
      'spec.settings: max_connections and max-connections are the same setting: say it once',
    ],
    [
      'what is no image',
      { image: 'mysql 8' },
      'REGENT_BAD_REQUEST',
      'spec.image is "mysql 8"; allowed is an image such as',
    ],
    [
      'a volume that would be low from the start',
      { storage: { size: '100Mi' } },
      'REGENT_BAD_REQUEST',
      'spec.storage.size is "100Mi"; allowed is more than twice spec.lowSpaceBytes, 67108864',
    ],
    [
      'what is no quantity',
      { resources: { limits: { memory: '2 GB' } } },
      'REGENT_BAD_REQUEST',
      'spec.resources.limits.memory is "2 GB"; allowed is a quantity such as 500m or 2Gi',
    ],
    [
      'requests above their limit',
      { agentResources: { requests: { memory: '1Gi' }, limits: { memory: '512Mi' } } },
      'REGENT_BAD_REQUEST',
      'spec.agentResources.requests.memory is "1Gi"; allowed is at most its limit, 512Mi',
    ],
    [
      'a Secret that cannot be one',
      { tls: { secretName: 'My_Secret' } },
      'REGENT_BAD_REQUEST',
      'spec.tls.secretName is "My_Secret"; allowed is the name of a Secret',
    ],
    [
      'Regent’s authority for clients',
      { tls: { secretName: 'shop-ca' } },
      'REGENT_BAD_REQUEST',
      'spec.tls.secretName is "shop-ca"; allowed is a Secret that is not Regent’s own',
    ],
    [
      'a certificate among the settings',
      { settings: { 'ssl-cert': '/etc/mine.pem' } },
      'REGENT_BAD_REQUEST',
      'spec.settings: ssl-cert is not for you to set: replicas need TLS, and clients get their certificate from clientTls of the agent’s file, or from spec.tls.secretName',
    ],
    [
      'a server without TLS',
      { settings: { 'skip-ssl': '' } },
      'REGENT_BAD_REQUEST',
      'spec.settings: skip-ssl is not for you to set: replicas need TLS',
    ],
    [
      'no version of TLS',
      { settings: { tls_version: '' } },
      'REGENT_BAD_REQUEST',
      'spec.settings: tls_version is ""; allowed is TLSv1.2, TLSv1.3 or both: replicas need TLS',
    ],
    [
      'a second agent',
      { pod: { containers: [{ name: 'agent' }] } },
      'REGENT_BAD_REQUEST',
      'spec.pod.containers is "agent"; allowed is names other than mysql, agent, launcher',
    ],
    [
      'another volume of the same name',
      { pod: { volumes: [{ name: 'data' }] } },
      'REGENT_BAD_REQUEST',
      'spec.pod.volumes is "data"',
    ],
    [
      'a container twice',
      { pod: { containers: [{ name: 'log' }, { name: 'log' }] } },
      'REGENT_BAD_REQUEST',
      'spec.pod.containers is "log"; allowed is each name once',
    ],
    [
      'servers that take no writes',
      { settings: { 'innodb-force-recovery': '1' } },
      'REGENT_BAD_REQUEST',
      'innodb-force-recovery is not for you to set',
    ],
    [
      'servers that guess after a crash',
      { settings: { tc_heuristic_recover: 'COMMIT' } },
      'REGENT_BAD_REQUEST',
      'tc_heuristic_recover is not for you to set',
    ],
    [
      'places that contradict each other',
      { scheduling: { affinity: { podAffinity: required, podAntiAffinity: required } } },
      'REGENT_BAD_REQUEST',
      'spec.scheduling: required podAffinity wants the instances in one kubernetes.io/hostname',
    ],
    [
      'a grace that is longer than the deadline',
      { switchover: { graceMs: 20_000, timeoutMs: 10_000 } },
      'REGENT_BAD_REQUEST',
      'spec.switchover.graceMs is 20000; allowed is at most spec.switchover.timeoutMs, 10000',
    ],
    [
      'a router that is to know a lag better than the heartbeat tells it',
      { router: { reads: { maxLagMs: 500 } }, backup: { store: { address: 's3://backups/shop' } } },
      'REGENT_BAD_REQUEST',
      'spec.router: reads.maxLagMs is 500 ms, and a lag is known to 1000 ms only',
    ],
    [
      'a Service that is to know a lag better than the heartbeat tells it',
      { services: { replicas: { reads: { maxLagMs: 500 } } }, backup: { store: { address: 's3://backups/shop' } } },
      'REGENT_BAD_REQUEST',
      'spec.services.replicas: reads.maxLagMs is 500 ms, and a lag is known to 1000 ms only',
    ],
    [
      'routers that ask for more than they may have',
      { router: { resources: { requests: { cpu: 2 }, limits: { cpu: 1 } } } },
      'REGENT_BAD_REQUEST',
      'spec.router.resources.requests.cpu is 2',
    ],
    [
      'labels in Regent’s name',
      { pod: { labels: { 'regent.dev/role': 'primary' } } },
      'REGENT_BAD_REQUEST',
      'spec.pod is "regent.dev/role"',
    ],
  ]
  it.each([
    'mysql:8.4.3',
    'mysql/mysql-server:8.0.32',
    'localhost:5000/a/b__c/mysql_x:9.7.4-oraclelinux9',
    'REGISTRY.example:443/mysql:8.4',
    '[fd00::1]:5000/mysql:8.4',
    `mysql@sha256:${'a'.repeat(64)}`,
    `registry.example/mysql:8.4@sha256:${'a'.repeat(64)}`,
  ])('may have image %s', (image) => {
    expect(refusalsOf(aCluster({ image }))).toEqual([])
  })

  it('may have a buffer pool below its memory, and containers with ports of their own', () => {
    const pod = { containers: [{ name: 'tail', image: 'tail:1', ports: [{ containerPort: 8080 }] }] }
    const settings = { innodb_buffer_pool_size: '1536M' }
    expect(refusalsOf(aCluster({ ...safe, pod, settings, resources: { limits: { memory: '2Gi' } } }))).toEqual([])
  })

  it.each(refusals)('is refused with %s', (_, said, code, message) => {
    expect(refusalsOf(aCluster({ ...safe, ...said }))).toEqual([[code, expect.stringContaining(message)]])
  })

  it('is refused where nobody may lead, and not where one may', () => {
    const never = (...ordinals: readonly number[]) =>
      refusalsOf(aCluster({ ...safe, primary: { never: ordinals.map((one) => `shop-${one}`) } }))
    expect(never(0, 1, 2).map(([code]) => code)).toContain('REGENT_BAD_REQUEST')
    expect(never(0, 2, 3)).toEqual([])
  })

  it('hears of everything that is wrong at once', () => {
    expect(refusalsOf(aCluster({ image: 'mysql:5.7', acks: 5 }))).toHaveLength(2)
  })

  it.each([
    ['s'.repeat(40), 'at most 39 characters'],
    ['Shop', 'lower-case letters'],
    ['shop-', 'no dash last'],
    ['1shop', 'a letter first'],
  ])('cannot be named %s', (name, allowed) => {
    expect(refusalsOf(aCluster(safe, { name }))).toEqual([['REGENT_BAD_REQUEST', expect.stringContaining(allowed)]])
  })
})

describe('a cluster that changes', () => {
  const before = aCluster({ ...safe, instances: 5, storage: { size: '20Gi', storageClassName: 'fast' } })
  const changed = (said: object) => aCluster({ ...before.spec, ...said })

  it('may be labelled, and finished with, whatever its spec was let in as', () => {
    const old = aCluster({ image: 'mysql:5.7' })
    expect(
      validateMySQLCluster(
        aCluster({ image: 'mysql:5.7' }, { labels: { a: 'b' }, finalizers: ['regent.dev/cluster'] }),
        old,
      ),
    ).toEqual({ refusals: [], warnings: [] })
  })

  it.each<readonly [string, object, string]>([
    [
      'another storage class',
      { storage: { size: '20Gi', storageClassName: 'slow' } },
      'spec.storage.storageClassName is "slow"; allowed is "fast": it cannot change, make a new cluster',
    ],
    [
      'another size of pages',
      { settings: { ...before.spec.settings, 'innodb-page-size': '4k' } },
      'spec.settings.innodb_page_size is "4096"; allowed is "16384", which the data was made with: it cannot change, make a new cluster and load the data into it',
    ],
    [
      'another way to the primary',
      { services: { routing: 'labels' } },
      'spec.services.routing is "labels"; allowed is "endpoints": it cannot change, make a new cluster',
    ],
    [
      'no storage class',
      { storage: { size: '20Gi' } },
      'spec.storage.storageClassName is not given; allowed is "fast"',
    ],
    [
      'smaller volumes',
      { storage: { size: '19.9Gi', storageClassName: 'fast' } },
      'spec.storage.size is "19.9Gi"; allowed is "20Gi" or more: a volume cannot shrink',
    ],
    [
      'an older series',
      { image: 'mysql:8.0.40' },
      'spec.image is "mysql:8.0.40"; allowed is the series of "mysql:8.4.3" or a newer one',
    ],
  ])('is refused with %s', (_, said, message) => {
    expect(refusalsOf(changed(said), before)).toEqual([['REGENT_REFUSED', expect.stringContaining(message)]])
  })

  it.each<readonly [string, object]>([
    ['larger volumes, in another unit', { storage: { size: '21475Mi', storageClassName: 'fast' } }],
    ['the same size in other words', { storage: { size: '20480Mi', storageClassName: 'fast' } }],
    ['a newer image', { image: 'mysql:9.1' }],
    ['other settings', { settings: { long_query_time: '1' } }],
  ])('may have %s', (_, said) => {
    expect(refusalsOf(changed(said), before)).toEqual([])
  })
})

describe('a scale-in', () => {
  const status = (...inSync: readonly number[]): MySQLClusterStatus => ({
    primary: 'shop-0',
    instances: [0, 1, 2, 3, 4].map((ordinal) => ({
      name: `shop-${ordinal}`,
      role: ordinal === 0 ? 'primary' : 'replica',
      inSyncSet: inSync.includes(ordinal),
    })),
  })
  const five = (known: MySQLClusterStatus | undefined, said: object = {}): MySQLCluster => ({
    ...aCluster({ ...safe, instances: 5, ...said }),
    ...(known && { status: known }),
  })

  it('goes through where enough of those that stay take part', () => {
    expect(refusalsOf(aCluster({ ...safe, instances: 3 }), five(status(1, 2, 3, 4)))).toEqual([])
  })

  it('is refused where those that stay could not acknowledge', () => {
    expect(refusalsOf(aCluster({ ...safe, instances: 3 }), five(status(3, 4)))).toEqual([
      [
        'REGENT_REFUSED',
        'spec.instances is 3; of those that would stay shop-0 takes part, and durability needs 2: bring back shop-1, shop-2 first, or lower spec.acks',
      ],
    ])
  })

  it('is refused where acks would be more than there are replicas', () => {
    expect(
      refusalsOf(aCluster({ ...safe, instances: 2, acks: 2 }), five(status(1, 2, 3, 4), { acks: 2 })),
    ).toContainEqual(['REGENT_BAD_REQUEST', expect.stringContaining('spec.acks is 2')])
  })

  it('is refused where those that stay are no majority of the group, though the record admits them', () => {
    const members = ['ONLINE', 'RECOVERING', 'MISSING', 'ONLINE', 'ONLINE']
    const known = status(1, 2, 3, 4)
    const instances = known.instances?.map((one, ordinal) => ({ ...one, member: members[ordinal] ?? '' })) ?? []
    const before = five({ ...known, instances }, { mode: 'group' })
    expect(refusalsOf(aCluster({ ...safe, mode: 'group', instances: 3 }), before)).toEqual([
      [
        'REGENT_REFUSED',
        'spec.instances is 3; of those that would stay shop-0 takes part, and durability needs 2: bring back shop-1, shop-2 first',
      ],
    ])
  })

  it('is left to the controller where nothing is known of the instances', () => {
    expect(refusalsOf(aCluster({ ...safe, instances: 3 }), five(undefined))).toEqual([])
  })

  it('is no matter of those that go', () => {
    expect(refusalsOf(aCluster({ ...safe, instances: 3 }), five(status(1)))).toEqual([])
  })
})

describe('what is legal and dangerous', () => {
  it.each<readonly [object, string]>([
    [{ instances: 1 }, 'spec.instances is 1: nothing protects the data'],
    [{ instances: 2 }, 'spec.instances is 2: when one is lost writes wait'],
    [{ instances: 2, durability: 'available' }, 'writes go on unprotected'],
    [{ acks: 0 }, 'spec.acks is 0: a failover may lose'],
    [{ mode: 'group', instances: 2 }, 'spec.instances is 2: when one of 2 members is lost the other is no majority'],
    [{ mode: 'group', instances: 4 }, 'spec.instances is 4: 4 members outlive the loss of 1 at once'],
    [{ mode: 'group', acks: 0 }, 'spec.acks is 0, without effect in mode group'],
    [{ agentResources: { limits: { cpu: '100m' } } }, 'spec.agentResources.limits.cpu is set'],
    [{ image: 'mysql' }, 'spec.image "mysql" names no version'],
    [{ image: 'mysql:latest' }, 'names no version'],
    [{ volumes: { whenDeleted: 'Delete' } }, 'the data goes with the resource'],
    [{ pod: { terminationGracePeriodSeconds: 10 } }, 'may be killed before it has handed over'],
  ])('is warned of: %o', (said, warning) => {
    const { refusals, warnings } = validateMySQLCluster(aCluster({ ...safe, ...said }))
    expect(refusals).toEqual([])
    expect(warnings).toEqual([expect.stringContaining(warning)])
    // Longer ones are cut by the API server.
    expect(warnings[0]?.length).toBeLessThanOrEqual(256)
  })
})

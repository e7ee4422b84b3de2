import type { FastifyInstance } from 'fastify'
import type { Recovery } from '#failover/protocol/notes.ts'
import type { Answers, StoreQuestions } from '#failover/protocol/word.ts'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { createLogger } from '#common/log/logger.ts'
import type { ClusterEvent, ClusterService } from '../clusters/cluster-service.ts'
import { createMetrics } from '../clusters/metrics.ts'
import { createApi, type ApiLimits, type ApiOptions } from './create-api.ts'
import type { AgentView } from '#api-contract/agent-view.ts'
import type { ExplainView } from '#api-contract/explain-view.ts'
import type { OperationResult } from '#api-contract/operation-result.ts'
import type { ClusterView, InstanceRow, TopologyView } from '#api-contract/views.ts'

/** A cluster service in memory, for tests of the API: one cluster, "shop", and a record of what was asked of it. */
export interface MemoryClusters extends ClusterService {
  leads: boolean
  readonly asked: { operation: string; cluster: string; request: unknown }[]
  /** What every operation answers; a promise that rejects makes it fail. */
  answer: () => Promise<OperationResult>
  readonly listeners: Set<(event: ClusterEvent) => void>
  /** What was looked for in the archive of backups. */
  readonly searched: object[]
}

const testToken = 'test-token-0123456789'

export const authorized = { authorization: `Bearer ${testToken}` }

export function shopInstance(ordinal: number, over: Partial<InstanceRow> = {}): InstanceRow {
  return {
    name: `shop-${ordinal}`,
    host: `127.24.0.${ordinal + 1}`,
    port: 3306,
    role: ordinal === 0 ? 'primary' : 'replica',
    process: 'running',
    reachable: true,
    inSyncSet: ordinal > 0,
    acknowledging: ordinal > 0,
    lagSeconds: ordinal === 0 ? null : 0.25,
    backlog: ordinal === 0 ? null : 3,
    behind: false,
    readOnly: ordinal > 0,
    offline: false,
    fenced: false,
    version: '9.7.1',
    executed: '3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5',
    problems: [],
    ...over,
  }
}

export const shop: ClusterView = {
  name: 'shop',
  mode: 'semisync',
  durability: 'strict',
  epoch: 4,
  revision: 17,
  primary: 'shop-0',
  writable: true,
  whole: true,
  problems: [],
  syncSet: ['shop-1', 'shop-2'],
  acks: 1,
  acksWanted: 1,
  condition: 'primaryWell',
  sentence: 'no action: primary shop-0 is healthy, 2 of 2 replicas in the sync set',
  news: 'no action: primary shop-0 is healthy, # of # in the sync set',
  blocked: false,
  paused: false,
  instances: [
    shopInstance(0),
    shopInstance(1),
    shopInstance(2, {
      role: 'none',
      process: 'unknown',
      reachable: false,
      lagSeconds: null,
      backlog: null,
      readOnly: null,
      offline: null,
      version: null,
      executed: null,
      problems: [{ code: 'NeverHeard', sentence: 'its agent was never heard' }],
    }),
  ],
}

const shopTopology: TopologyView = {
  ...shop,
  tree: [
    { name: 'shop-0', replicas: [{ name: 'shop-1', replicas: [] }] },
    { name: 'shop-2', replicas: [] },
  ],
}

const shopExplained: ExplainView = {
  sentence: shop.sentence,
  blocked: false,
  reasons: ['shop-2 was not chosen: never heard'],
  analyses: [
    { code: 'InstanceUnreachable', severity: 'warning', instance: 'shop-2', sentence: 'shop-2 was never heard' },
  ],
  record: {
    version: 1,
    cluster: 'shop',
    epoch: 4,
    revision: 17,
    primary: 'shop-0@a',
    syncSet: ['shop-1@b', 'shop-2@c'],
    leaving: [],
    acks: 1,
    acksWanted: 1,
    intent: {
      kind: 'switchover',
      by: 'run',
      candidate: 'shop-1@b',
      request: 'r',
      deadlineWallMs: 1_700_000_000_000.5,
      reason: '',
    },
  },
}

export const shopRecovery: Recovery = {
  id: 'r1',
  kind: 'failover',
  startedWallMs: 1_700_000_000_000,
  analysis: 'DeadPrimary',
  sentence: 'shop-0 died',
  from: 'shop-0@a',
  to: 'shop-1@b',
  fromEpoch: 3,
  toEpoch: 4,
  outcome: 'succeeded',
  timeline: [
    { atMs: 0, what: 'noticed' },
    { atMs: 12.375, what: 'committed' },
  ],
}

export const shopAgents: readonly AgentView[] = [
  {
    instance: 'shop-0',
    failure: '',
    watches: [
      {
        ...{ name: 'locks in the way', everyMs: 250, rests: false, underWayMs: null, failure: '' },
        last: { agoMs: 120, tookMs: 3 },
      },
      { name: 'needs', everyMs: 1_000, rests: true, last: null, underWayMs: 40, failure: 'no answer' },
    ],
    facts: [{ agoMs: 300, fact: 'ordered', detail: 'order promise' }],
    runs: [{ agoMs: 300, kind: 'backup', name: '20261126T031209Z', sentence: 'the data are copied' }],
  },
  { instance: 'shop-1', failure: 'no answer within 2000 ms', watches: [], facts: [] },
]

export const shopStore: Pick<Answers, keyof StoreQuestions> = {
  storedBackups: {
    ...{ cluster: 'shops.shop', address: 's3://backups/prod', refusesPlain: true, unusable: ['a manifest is cut off'] },
    backups: [
      {
        ...{ name: '20261126T031209Z', cluster: 'shops.shop', lineage: '0011', instance: 'shop-1' },
        ...{ serverUuid: '1-2-3', mysqlVersion: '9.7.4', epoch: 4, startedAtMs: 1, endedAtMs: 2, storedAtMs: 3 },
        ...{ gtids: '1-2-3:1-9', gtidsAtMost: '1-2-3:1-9', rawBytes: 10, storedBytes: 5, parts: 1 },
        ...{ compression: 'zstd', sha256: 'ab', verified: { verifiedAtMs: 4, restoreMs: 5 } },
        encryption: { scheme: 'aes-256-gcm', keyId: 'k', salt: 's', signature: 't' },
      },
    ],
  },
  restoreWindow: {
    ...{ cluster: 'shops.shop', alone: ['20261126T031209Z'], leftOut: ['a backup is plain'] },
    ...{ spans: [{ fromMs: 1_000, toMs: 2_000 }], holes: ['the archive lacks 1 transaction'] },
  },
  findInArchive: {
    ...{ cluster: 'shops.shop', pieces: 2, read: 1, passedOver: 0, next: 'shop/binlog/x' },
    found: [{ gtid: '1-2-3:4', committedMs: 1, kind: 'drop', statement: 'DROP TABLE orders' }],
  },
}

export function memoryClusters(): MemoryClusters {
  const known = (cluster: string): void => {
    if (cluster !== 'shop')
      throw new RegentError('REGENT_NOT_FOUND', say`there is no cluster "${cluster}"; there is: shop`)
  }
  const get =
    <View>(view: View) =>
    (cluster: string): View => {
      known(cluster)
      return view
    }
  const service: MemoryClusters = {
    leads: true,
    asked: [],
    answer: async () => ({ done: true, dryRun: false, sentence: 'done' }),
    listeners: new Set(),
    list: () => [shop],
    known: () => [],
    annotate: async (cluster) => known(cluster),
    view: get(shop),
    topology: get(shopTopology),
    explain: get(shopExplained),
    agents: async (cluster) => get(shopAgents)(cluster),
    searched: [],
    async askAboutStore(cluster, question, asked) {
      if (question === 'findInArchive') service.searched.push(asked)
      return get((shopStore as Answers)[question])(cluster)
    },
    recoveries: get([shopRecovery]),
    recovery(cluster, id) {
      known(cluster)
      if (id !== shopRecovery.id)
        throw new RegentError('REGENT_NOT_FOUND', say`there is no recovery "${id}" of shop; there is: r1`)
      return shopRecovery
    },
    async operate(cluster, operation, request) {
      known(cluster)
      service.asked.push({ operation, cluster, request })
      return service.answer()
    },
    subscribe(cluster, listener) {
      known(cluster)
      service.listeners.add(listener)
      return () => void service.listeners.delete(listener)
    },
  }
  return service
}

/** The API over such a service, and the lines it logs. */
export async function testApi(
  limits: Partial<ApiLimits> = {},
  more: Pick<ApiOptions, 'watcherOf'> = {},
): Promise<{ app: FastifyInstance; clusters: MemoryClusters; logged: string[] }> {
  const clusters = memoryClusters()
  const logged: string[] = []
  const log = createLogger({
    level: 'debug',
    name: 'manager',
    destination: { write: (line) => void logged.push(line) },
  })
  const app = await createApi({
    clusters,
    token: testToken,
    log,
    metrics: createMetrics(),
    limits: { requestsPerSecond: 100_000, ...limits },
    ...more,
  })
  return { app, clusters, logged }
}

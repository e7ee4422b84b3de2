import type { FastifyInstance } from 'fastify'
import type { Annotations } from '#failover/protocol/annotations.ts'
import type { Recovery } from '#failover/protocol/notes.ts'
import { aSituation, type SituationOverrides } from '#failover/testing.ts'
import { createLogger } from '#common/log/logger.ts'
import { realWorld } from '#common/ports/real-world.ts'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { memoryClusters } from '#manager/api/testing.ts'
import type { WatchedServer } from '#manager/clusters/watched.ts'
import type { ClusterService, KnownCluster } from '#manager/clusters/cluster-service.ts'
import { createOrchestrator, type OrchestratorOptions } from './create-orchestrator.ts'
import type { Envelope } from './routes/answers.ts'

/** The cluster `shop` in a situation, as a manager knows it. */
export function knownShop(overrides: SituationOverrides = {}): KnownCluster {
  return { ...aSituation(overrides), name: 'shop' }
}

/** The same cluster, where Regent only watches. */
export function watchedShop(overrides: SituationOverrides = {}): KnownCluster {
  const known = knownShop(overrides)
  const place = { file: 'binlog.000007', position: 1_000 }
  const servers = known.snapshot.instances.map(({ name, observation }, at) => {
    const { channel = null } = observation?.server ?? {}
    const { sourceHost = '', sourcePort = 0 } = channel ?? {}
    const followed = { sourceHost, sourcePort, autoPosition: true, delaySeconds: 0, read: place, applied: place }
    const server: WatchedServer = {
      ...{ serverId: at + 1, product: 'MySQL', binlogFormat: 'ROW', logBin: true, logReplicaUpdates: true },
      ...{ gtidMode: 'ON', binlog: place, channel: channel && followed, channels: channel ? 1 : 0 },
      ...{ errant: '', semiSyncReplica: false, more: null },
    }
    return [name, server] as const
  })
  return {
    ...known,
    record: undefined,
    watched: { primary: 'shop-0', death: null, doubt: '', servers: Object.fromEntries(servers) },
  }
}

interface AskedOf {
  readonly cluster: string
  readonly operation: string
  readonly request: unknown
}

/** orchestrator's interface over these clusters, whose operations are written down and change nothing. */
export async function orchestratorOver(
  clusters: readonly KnownCluster[],
  {
    leads = true,
    recoveries = [],
    ...options
  }: Partial<OrchestratorOptions> & { readonly leads?: boolean; readonly recoveries?: readonly Recovery[] } = {},
) {
  const asked: AskedOf[] = []
  const said = new Map<string, Annotations>(clusters.map(({ name, notes }) => [name, notes.annotations ?? {}]))
  const known = () =>
    clusters.map((one) => ({ ...one, notes: { ...one.notes, annotations: said.get(one.name) ?? {} } }))
  const logged: string[] = []
  const service: ClusterService = {
    ...memoryClusters(),
    leads,
    known,
    async annotate(cluster, change) {
      said.set(cluster, change(said.get(cluster) ?? {}))
    },
    async operate(cluster, operation, request) {
      if (cluster === 'broken') throw new RegentError('REGENT_STORE_UNAVAILABLE', say`the store does not answer`)
      asked.push({ cluster, operation, request })
      if (operation === 'failover') throw new RegentError('REGENT_REFUSED', say`no failover: nobody holds "everything"`)
      return { done: true, dryRun: false, sentence: 'done', recovery: 'r1' }
    },
    recoveries: () => recoveries,
  }
  const app = await createOrchestrator({
    clusters: service,
    log: createLogger({ level: 'info', name: 'test', destination: { write: (line) => void logged.push(line) } }),
    // Nothing changes while somebody waits.
    timers: { ...realWorld.timers, sleep: async () => undefined },
    hostNames: 'name',
    readOnly: false,
    ...options,
  })
  return { app, asked, said, logged, get: async (path: string) => envelope(app, path) }
}

/** What a path answers: the body, and its status. */
async function envelope(app: FastifyInstance, path: string) {
  const { statusCode, body } = await app.inject({ method: 'GET', url: `/api/${path}` })
  return { status: statusCode, body: JSON.parse(body) as Envelope }
}

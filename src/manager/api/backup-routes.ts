import type { FastifyInstance } from 'fastify'
import { clusterParams, type ClusterParams } from '#api-contract/path-params.ts'
import {
  archiveSearchSchema,
  foundTransactionsSchema,
  restoreWindowSchema,
  storedBackupsSchema,
  type ArchiveSearchBody,
} from '#api-contract/stored-backups.ts'
import { refTo } from '#api-contract/views.ts'
import type { ClusterService } from '../clusters/cluster-service.ts'
import { routeSchema } from './route-schema.ts'

/** Routes that tell what lies in the store of backups. They change nothing. */
export function backupRoutes(app: FastifyInstance, clusters: ClusterService): void {
  app.get<{ Params: ClusterParams }>(
    '/clusters/:cluster/backups',
    {
      schema: routeSchema({
        operationId: 'listBackups',
        tag: 'clusters',
        summary: 'The backups of a cluster, as an agent finds them in the store at this moment',
        params: clusterParams,
        answer: refTo(storedBackupsSchema),
      }),
    },
    async ({ params }) => clusters.askAboutStore(params.cluster, 'storedBackups', {}),
  )
  app.get<{ Params: ClusterParams }>(
    '/clusters/:cluster/backups/window',
    {
      schema: routeSchema({
        operationId: 'restoreWindow',
        tag: 'clusters',
        summary: 'From when to when a cluster can be restored',
        params: clusterParams,
        answer: refTo(restoreWindowSchema),
      }),
    },
    async ({ params }) => clusters.askAboutStore(params.cluster, 'restoreWindow', {}),
  )
  app.post<{ Params: ClusterParams; Body: ArchiveSearchBody }>(
    '/clusters/:cluster/backups/find',
    {
      schema: routeSchema({
        operationId: 'findInArchive',
        tag: 'clusters',
        summary: 'Which transactions of the archive of binary logs did something to a table, in parts',
        params: clusterParams,
        body: archiveSearchSchema,
        answer: refTo(foundTransactionsSchema),
      }),
    },
    async ({ params, body }) => clusters.askAboutStore(params.cluster, 'findInArchive', body),
  )
}

import { routerSettings, type RouterSettings } from '#failover/protocol/router-settings.ts'
import type { MySQLClusterSpec } from './spec-schema.ts'

/** Which replicas are read without a router: as with one, unless told otherwise. */
export function readSettingsOf({ router, services }: MySQLClusterSpec): RouterSettings['reads'] {
  return routerSettings({ reads: { ...router?.reads, ...services.replicas.reads } }).reads
}

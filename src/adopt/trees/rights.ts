import type { Dialect } from '#agents/sql/dialect/dialect.ts'
import type { Step } from '#orchestrator/trees/step.ts'
import { heldRights } from '../servers/held-rights.ts'

/** Any one of these is enough for a step. */
type Rights = readonly string[]

const replication: Rights = ['REPLICATION_SLAVE_ADMIN', 'SUPER']
const variables: Rights = ['SYSTEM_VARIABLES_ADMIN', 'SUPER']

const needed: { readonly [Do in Step['do']]: readonly Rights[] } = {
  stop: [replication],
  start: [replication],
  reset: [replication, ['RELOAD']],
  stopReceiving: [replication],
  startReceiving: [replication],
  lead: [replication, ['RELOAD'], variables],
  absent: [],
  covers: [],
  drain: [],
  catchUp: [],
  advance: [replication],
  level: [replication],
  follow: [replication],
  readOnly: [variables],
  semiSync: [variables],
  flushLogs: [['RELOAD']],
  inject: [['REPLICATION_APPLIER', 'SESSION_VARIABLES_ADMIN', ...variables]],
  resetGtids: [['RELOAD'], variables],
}

/** What a login lacks at a server for these steps; old versions know `SUPER` alone. */
export function lackedRights(steps: readonly Step[], grants: readonly string[], dialect: Dialect): readonly string[] {
  const held = heldRights(grants)
  if (held.has('ALL PRIVILEGES')) return []
  const lacked = steps.flatMap((step) => needed[step.do]).filter((any) => !any.some((right) => held.has(right)))
  const isOld = dialect.product === 'MariaDB' || dialect.since[0] < 8
  return [...new Set(lacked.map((any) => (isOld ? (any.at(-1) ?? '') : (any[0] ?? ''))))]
}

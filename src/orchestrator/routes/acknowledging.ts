import { isIP } from 'node:net'
import { describeError } from '#common/errors/errors.ts'
import type { Acknowledgement, Annotations } from '#failover/protocol/annotations.ts'
import type { Recovery } from '#failover/protocol/notes.ts'
import { instanceOf } from '#topology/snapshot/member.ts'
import { keyText } from '../documents/key.ts'
import { shown } from '../fleet/hints.ts'
import { recoveryDocument, recoveryNumber, recoverySteps } from '../fleet/recovery.ts'
import { writableHeadOf, type Cluster } from '../fleet/fleet.ts'
import { ok, oneLine, plain, refused, type Answer } from './answers.ts'
import { operate } from './operate.ts'
import type { Call, Route } from './route.ts'

const pageSize = 20

interface Found {
  readonly cluster: Cluster
  readonly recovery: Recovery
}

/** What orchestrator records as recoveries: changes of the primary, and repairs. The newest first. */
function recoveriesIn(call: Call, clusters: readonly Cluster[]): readonly Found[] {
  return clusters
    .flatMap((cluster) => call.clusters.recoveries(cluster.name).map((recovery) => ({ cluster, recovery })))
    .filter(({ recovery }) => recovery.kind !== 'bootstrap')
    .toSorted((one, other) => other.recovery.startedWallMs - one.recovery.startedWallMs)
}

/** By whatever the path names; everything where it names nothing. */
function meant(call: Call): readonly Found[] {
  const { clusterHint, clusterAlias, host } = call.params
  const hint = clusterHint ?? clusterAlias
  if (hint !== undefined) return recoveriesIn(call, [call.clusterNamed(hint)])
  const all = recoveriesIn(call, host === undefined ? call.fleet : [call.server.cluster])
  const [id, uid] = [call.params['id'], call.params['uid']]
  if (id !== undefined) return all.filter(({ recovery }) => String(recoveryNumber(recovery.id)) === id)
  if (uid !== undefined) return all.filter(({ recovery }) => recovery.id === uid)
  return host === undefined ? all : all.filter(({ recovery }) => isOf(recovery, call.server.name))
}

function isOf({ from }: Recovery, instance: string): boolean {
  return from !== null && instanceOf(from) === instance
}

function audit(call: Call): Answer {
  const page = Number(/^\d{1,6}$/.exec(call.param('page'))?.[0] ?? '0')
  const isUnread = call.said('unacknowledged') === 'true'
  const all = isUnread ? meant(call).filter((one) => !isAcknowledged(one)) : meant(call)
  const those = all.slice(page * pageSize, (page + 1) * pageSize)
  return plain(those.map(({ recovery, cluster }) => recoveryDocument(recovery, cluster)))
}

function isAcknowledged({ recovery, cluster }: Found): boolean {
  return cluster.known.notes.annotations?.acknowledged?.[recovery.id] !== undefined
}

function active(call: Call): Answer {
  const those = meant(call).filter(({ recovery }) => recovery.outcome === 'running')
  return plain(those.map(({ recovery, cluster }) => recoveryDocument(recovery, cluster)))
}

async function acknowledge(call: Call, message: string, details: (comment: string) => unknown): Promise<Answer> {
  const comment = call.said('comment')
  if (comment === '') return refused('No acknowledge comment given')
  const those = meant(call)
  const one = call.params['id'] ?? call.params['uid']
  // Another manager may know it: `others.ts` looks for these words.
  if (one !== undefined && those.length === 0)
    return refused(`Cannot read recovery: ${shown(one)} is none of those that are kept`)
  for (const cluster of new Set(those.map((each) => each.cluster))) {
    const ids = those.filter((each) => each.cluster === cluster).map(({ recovery }) => recovery.id)
    const said = { wallMs: cluster.known.wallMs, by: call.who, comment: oneLine(comment, 200) }
    const kept = new Set(call.clusters.recoveries(cluster.name).map(({ id }) => id))
    await call.clusters.annotate(cluster.name, (before) => withAcknowledged(before, { ids, said, kept }))
  }
  return ok(message, details(comment))
}

/** Acknowledgements of recoveries that are not kept any more are dropped. */
function withAcknowledged(
  { acknowledged = {}, ...rest }: Annotations,
  {
    ids,
    said,
    kept,
  }: { readonly ids: readonly string[]; readonly said: Acknowledgement; readonly kept: ReadonlySet<string> },
): Annotations {
  const before = Object.entries(acknowledged).filter(([id]) => kept.has(id))
  return {
    ...rest,
    acknowledged: { ...Object.fromEntries(before), ...Object.fromEntries(ids.map((id) => [id, said])) },
  }
}

const unblocks = 'kept with the recovery; nothing waits for it, since no recovery blocks the next one for an hour'

const acks = (
  path: string,
  does: string,
  message: string,
  details: (call: Call, comment: string) => unknown,
): Route => ({
  path,
  does,
  differs: unblocks,
  changes: true,
  answer: async (call) => acknowledge(call, message, (comment) => details(call, comment)),
})

const ofKinds = (path: string): readonly string[] => [path, `${path}/:page`]

const recoveriesOnly = 'the last 50 recoveries of each cluster are kept'

/** By which a pause is known that is to end with `enable-global-recoveries`. */
const globally = 'disable-global-recoveries by '

/** Pauses every cluster, also one that is not listed any more, unless somebody has paused it for another reason. */
async function disable(call: Call): Promise<Answer> {
  const those = call.wholeFleet.filter(({ known }) => known.notes.paused === null)
  const reason = `${globally}${call.who}`.slice(0, 200)
  const failed = await inEach(those, (cluster) => operate(call, cluster, 'pause', { reason }))
  return failed === '' ? ok('Globally disabled recoveries', 'disabled') : refused(failed)
}

/** What somebody paused for another reason stays paused, and is told of. */
async function enable(call: Call): Promise<Answer> {
  const isOthers = ({ known: { notes } }: Cluster) =>
    notes.paused !== null && notes.paused.reason !== '' && !notes.paused.reason.startsWith(globally)
  const those = call.wholeFleet.filter((cluster) => !isOthers(cluster))
  const failed = await inEach(those, (cluster) => operate(call, cluster, 'resume', {}))
  if (failed !== '') return refused(failed)
  const left = call.wholeFleet.filter(isOthers).map(({ name, known }) => `${name} (${known.notes.paused?.reason})`)
  const rest = left.length === 0 ? '' : `; still paused: ${left.join(', ')}`
  return ok(`Globally enabled recoveries${rest}`, 'enabled')
}

/** A cluster where that fails hinders none of the others. Gives where that failed; '' for nowhere. */
async function inEach(clusters: readonly Cluster[], act: (cluster: Cluster) => Promise<unknown>): Promise<string> {
  const failed: string[] = []
  for (const cluster of clusters)
    await act(cluster).catch((error: unknown) => failed.push(`${cluster.name}: ${describeError(error)}`))
  return failed.length === 0 ? '' : `not done for ${failed.join('; ')}`
}

function areOn({ wholeFleet }: Call): Answer {
  const isOff = wholeFleet.length > 0 && wholeFleet.every(({ known }) => known.notes.paused !== null)
  const details = isOff ? 'disabled' : 'enabled'
  return ok(`Global recoveries ${details}`, details)
}

const pauses =
  'pauses each cluster, as regent pause does: a cluster that is made later is not paused. One that somebody paused otherwise stays so'

/** What happened, who has read of it, and whether anything happens by itself. */
export const acknowledgingRoutes: readonly Route[] = [
  ...[
    ...ofKinds('audit-recovery'),
    'audit-recovery/id/:id',
    'audit-recovery/uid/:uid',
    ...ofKinds('audit-recovery/cluster/:clusterHint'),
    ...ofKinds('audit-recovery/alias/:clusterAlias'),
    ...ofKinds('audit-failure-detection'),
    'audit-failure-detection/id/:id',
    ...ofKinds('audit-failure-detection/alias/:clusterAlias'),
  ].map((path) => ({ path, does: 'recoveries, the newest first, 20 a page', differs: recoveriesOnly, answer: audit })),
  {
    path: 'audit-recovery-steps/:uid',
    does: 'the timeline of a recovery',
    answer: (call) => plain(meant(call).flatMap(({ recovery }) => recoverySteps(recovery))),
  },
  ...[
    'active-cluster-recovery/:clusterHint',
    'recently-active-cluster-recovery/:clusterHint',
    'recently-active-instance-recovery/:host/:port',
  ].map((path) => ({
    path,
    does: 'recoveries that go on',
    differs: 'one that has ended is active no more: no recovery blocks the next one for an hour',
    answer: active,
  })),
  ...['blocked-recoveries', 'blocked-recoveries/cluster/:clusterHint'].map((path) => ({
    path,
    does: 'an empty list',
    differs: 'no recovery blocks the next one; a budget limits automatic failovers, and regent explain says so',
    answer: () => plain([]),
  })),
  acks(
    'ack-recovery/cluster/:clusterHint',
    'recoveries of a cluster are known',
    'Acknowledged cluster recoveries',
    (call) => call.cluster.clusterName,
  ),
  acks(
    'ack-recovery/cluster/alias/:clusterAlias',
    'the same',
    'Acknowledged cluster recoveries',
    (call) => call.clusterNamed(call.param('clusterAlias')).clusterName,
  ),
  acks(
    'ack-recovery/instance/:host/:port',
    'recoveries of a server are known',
    'Acknowledged instance recoveries',
    (call) => call.server.instance.Key,
  ),
  acks(
    'ack-recovery/:id',
    'a recovery is known; refused where none of that number is kept',
    'Acknowledged recovery',
    (call) => call.param('id'),
  ),
  acks('ack-recovery/uid/:uid', 'the same', 'Acknowledged recovery', (call) => call.param('uid')),
  acks('ack-all-recoveries', 'all recoveries are known', 'Acknowledged all recoveries', (_, comment) => comment),
  {
    path: 'disable-global-recoveries',
    does: 'nothing is decided automatically',
    differs: pauses,
    changes: true,
    answer: disable,
  },
  {
    path: 'enable-global-recoveries',
    does: 'ends that',
    differs: pauses,
    changes: true,
    answer: enable,
  },
  { path: 'check-global-recoveries', does: 'disabled where every cluster is paused', differs: pauses, answer: areOn },
  ...['submit-masters-to-kv-stores', 'submit-masters-to-kv-stores/:clusterHint'].map((path) => ({
    path,
    does: 'tells what would stand in a store of keys and values',
    differs: 'writes into none, as orchestrator without one: clients find the primary by routes.json, or by a Service',
    answer: keysAndValues,
  })),
]

function keysAndValues(call: Call): Answer {
  const clusters = call.params['clusterHint'] === undefined ? call.fleet : [call.cluster]
  const pairs = clusters.flatMap((cluster) => {
    const head = writableHeadOf(cluster)
    if (head === undefined) return []
    const { key, host } = head
    const at = `mysql/master/${cluster.alias}`
    return [
      { Key: at, Value: keyText(key) },
      { Key: `${at}/hostname`, Value: key.Hostname },
      { Key: `${at}/port`, Value: String(key.Port) },
      { Key: `${at}/ipv4`, Value: isIP(host) === 4 ? host : '' },
      { Key: `${at}/ipv6`, Value: isIP(host) === 6 ? host : '' },
    ]
  })
  return ok(`Submitted ${clusters.length} masters`, pairs)
}

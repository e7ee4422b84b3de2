import { described, RegentError } from '#common/errors/errors.ts'
import { counted, say, type Sentence } from '#common/sentence/sentence.ts'
import type { Annotations } from '#failover/protocol/annotations.ts'
import { longestDowntimeMs, shortestDowntimeMs } from '#failover/judge/downtime.ts'
import { instanceOf } from '#topology/snapshot/member.ts'
import { durationMs } from '../documents/duration.ts'
import { keyText } from '../documents/key.ts'
import type { Server } from '../fleet/fleet.ts'
import { isPort, shown } from '../fleet/hints.ts'
import { ok, oneLine, refused, type Answer } from './answers.ts'
import { operate } from './operate.ts'
import type { Call, Route } from './route.ts'

/** As long as orchestrator's own, where nobody says for how long. */
const defaultDowntimeMs = 600_000

async function beginDowntime(call: Call): Promise<Answer> {
  const { server } = call
  const [owner, reason, duration] = [call.said('owner'), call.said('reason'), call.said('duration')]
  if (owner === '' || reason === '') return refused('Downtime: owner and reason must both be given')
  // Nothing and zero are the same to orchestrator.
  const asked = /^(?:0+[smhdw]?)?$/.test(duration) ? defaultDowntimeMs : durationMs(duration)
  if (asked === undefined)
    return refused(
      `Downtime: duration ${shown(duration)} is not understood; allowed are 30s, 10m, 1h, 2d, 1w or seconds`,
    )
  await operate(call, server.cluster, 'downtime', {
    instance: server.name,
    forMs: Math.min(longestDowntimeMs, Math.max(shortestDowntimeMs, asked)),
    reason: oneLine(reason, 200),
    owner: oneLine(owner, 100),
  })
  return ok(`Downtime begun: ${keyText(server.instance.Key)}`, server.instance.Key)
}

async function endDowntime(call: Call): Promise<Answer> {
  const { server } = call
  await operate(call, server.cluster, 'end-downtime', { instance: server.name })
  return ok(`Downtime ended: ${keyText(server.instance.Key)}`, server.instance.Key)
}

/**
 * Why its leaving would stop or lose something, and what is to be called before; null for nothing.
 *
 * @param forgotten the platform may remove these at any moment: they acknowledge nothing
 */
function whyNotForget({ name, cluster, instance }: Server, forgotten: readonly string[]): Sentence | null {
  const { record, watched } = cluster.known
  const key = keyText(instance.Key)
  if (watched?.primary === name) return say`${key} leads ${cluster.alias}: forget-cluster forgets all of its servers`
  if (record === undefined) return null
  if (instanceOf(record.primary) === name)
    return say`${key} is the primary of ${cluster.alias}: call graceful-master-takeover-auto first, then forget it`
  const counting = record.syncSet.map(instanceOf)
  const left = counting.filter((each) => each !== name && !forgotten.includes(each)).length
  if (!counting.includes(name) || left >= record.acks) return null
  const before = counting.filter((each) => forgotten.includes(each))
  const beside = before.length === 0 ? '' : ` and ${before.join(', ')}, forgotten before,`
  const few = say`without ${key}${beside} only ${counted(left, 'replica')} would be left`
  const advice = say`have fewer instances by regent local scale, or spec.instances, and Regent lowers what writes wait for`
  return say`${few}, and a write of ${cluster.alias} waits for ${record.acks}: ${advice}`
}

/** Nothing of the server is touched: who forgets one wants not to see the server any more. */
async function forget(call: Call): Promise<Answer> {
  const server = call.exactServer
  await call.clusters.annotate(server.cluster.name, (said) => {
    const why = whyNotForget(server, said.hidden ?? [])
    if (why !== null) throw new RegentError('REGENT_REFUSED', why)
    return withHidden(said, [server.name])
  })
  return ok(`Instance forgotten: ${keyText(server.instance.Key)}`, server.instance.Key)
}

async function forgetCluster(call: Call): Promise<Answer> {
  const cluster = call.exactCluster
  const names = cluster.known.snapshot.instances.map(({ name }) => name)
  await call.clusters.annotate(cluster.name, (said) => withHidden(said, names))
  return ok(`Cluster forgotten: ${cluster.clusterName}`)
}

function withHidden({ hidden = [], ...said }: Annotations, names: readonly string[]): Annotations {
  return { ...said, hidden: [...new Set([...hidden, ...names])] }
}

/** What is known is shown again. Where Regent watches, others are looked for. */
async function discover(call: Call): Promise<Answer> {
  const before = known(call)
  const { name, host, port, cluster } = before ?? (await find(call))
  if (cluster.known.notes.annotations?.hidden?.includes(name) === true) await show(call, cluster.name, name)
  if (before?.cluster.isWatched === true) await call.hands?.lookNow(cluster.name)
  const { instance } = call.look().named(host, String(port))
  return ok(`Instance discovered: ${keyText(instance.Key)}`, instance)
}

/** A part of a name is enough unless there may be another server of exactly that name. */
function known(call: Call): Server | undefined {
  const host = call.param('host')
  try {
    const server = call.hiddenOrShown
    const isMeant = call.hands === undefined || [server.name, server.key.Hostname].includes(host)
    return isMeant ? server : undefined
  } catch (error) {
    if (call.hands !== undefined) return undefined
    throw new RegentError(
      'REGENT_NOT_FOUND',
      say`${described(error)}: no agent tells of that server; regent local up or a MySQLCluster makes servers known`,
      { remedy: '' },
    )
  }
}

/** The answer comes before anybody is found: what goes wrong then, only the log can say. */
function discoverLater(call: Call): Answer {
  const [host, port] = addressOf(call)
  // Where nobody is looked for, what is not known is refused at once, and another manager may know of it.
  if (call.hands === undefined) known(call)
  call.background.begin(`discovery of ${host}:${port}`, async () => discover(call))
  return ok(`Asynchronous discovery initiated for Instance: ${host}:${port}`)
}

/** The name that was given may be another one than that by which the server is known. */
async function find(call: Call): Promise<Server> {
  const [host, port] = addressOf(call)
  const known = await call.hands?.discover(host, Number(port))
  return call.look().hiddenOrShownAt(known?.host ?? host, String(known?.port ?? port))
}

function addressOf(call: Call): readonly [host: string, port: string] {
  const [host, port] = [call.param('host'), call.param('port')]
  if (!/^[A-Za-z0-9._:%-]{1,255}$/.test(host) || !isPort(port))
    throw new RegentError('REGENT_BAD_REQUEST', say`${shown(host)}:${shown(port)} is no address of a server`)
  return [host, port]
}

async function show(call: Call, cluster: string, name: string): Promise<void> {
  await call.clusters.annotate(cluster, ({ hidden = [], ...said }) => {
    const left = hidden.filter((each) => each !== name)
    return left.length === 0 ? said : { ...said, hidden: left }
  })
}

const onlyHidden =
  'the server is no longer listed here, and goes on as before until the platform removes it. Refused for a ' +
  'primary, and where too few replicas would be left to acknowledge writes. discover lists it again'

const discovering: Omit<Route, 'path' | 'answer'> = {
  does: 'lists a server again that was forgotten; otherwise tells of the server',
  differs: 'servers are known by their agents; nobody logs in to a server to find others',
  watched:
    'looks for all servers that replicate with that one, by the accounts that are known, and watches them; 100 servers in a cluster at most',
  changes: true,
}

export const caringRoutes: readonly Route[] = [
  ...['begin-downtime/:host/:port/:owner/:reason', 'begin-downtime/:host/:port/:owner/:reason/:duration'].map(
    (path): Route => ({
      path,
      does: 'expects trouble of a server for a while; ten minutes unless said',
      differs: 'at most 30 days: a longer one is cut. Another instance is preferred as primary meanwhile',
      changes: true,
      answer: async (call) => beginDowntime(call),
    }),
  ),
  {
    path: 'end-downtime/:host/:port',
    does: 'ends that',
    changes: true,
    answer: async (call) => endDowntime(call),
  },
  {
    path: 'forget/:host/:port',
    does: 'does not list a server any more',
    differs: onlyHidden,
    watched: 'the server is no longer listed, and watched all the same; refused for the one that leads',
    changes: true,
    answer: forget,
  },
  {
    path: 'forget-cluster/:clusterHint',
    does: 'does not list a cluster any more',
    differs:
      'the cluster is managed as before until it is removed; discover of each of its servers lists them again. ' +
      'A part of a name is refused: the cluster of that name may be gone already',
    changes: true,
    answer: forgetCluster,
  },
  { path: 'discover/:host/:port', ...discovering, answer: discover },
  {
    path: 'async-discover/:host/:port',
    ...discovering,
    does: `${discovering.does}; answers at once, and what goes wrong later is said in the log`,
    answer: discoverLater,
  },
  {
    path: 'refresh/:host/:port',
    does: 'nothing: what is shown of a server is never old',
    differs: 'agents stream each change',
    answer: (call) => ok(`Instance refreshed: ${keyText(call.server.instance.Key)}`, call.server.instance.Key),
  },
]

import { codeOf, RegentError } from '#common/errors/errors.ts'
import { say, type Sentence } from '#common/sentence/sentence.ts'
import type { Annotations } from '#failover/protocol/annotations.ts'
import type { Key } from '../documents/key.ts'
import { keyText } from '../documents/key.ts'
import { policyOfRule } from '../documents/promotion-rule.ts'
import { hasTags, parseTag, parseTags, type Tag } from '../documents/tags.ts'
import { tagsOf } from '../fleet/topology-text.ts'
import type { Cluster, Server } from '../fleet/fleet.ts'
import { shown } from '../fleet/hints.ts'
import { ok, plain, refused, type Answer } from './answers.ts'
import type { Call, Route } from './route.ts'

function bad(message: Sentence): RegentError {
  return new RegentError('REGENT_BAD_REQUEST', message)
}

function tagsSaid(call: Call): Readonly<Record<string, string>> {
  return call.server.cluster.known.notes.annotations?.tags?.[call.server.name] ?? {}
}

/** From the path or from the query. */
function tagIn(call: Call): Tag {
  const text = call.params['tagName'] === undefined ? call.said('tag') : pathTag(call)
  const tag = parseTag(text)
  if (tag === undefined || tag.isNot)
    throw bad(say`tag ${shown(text)} is not understood; allowed is name or name=value, the name of letters and digits`)
  return tag
}

function pathTag(call: Call): string {
  const value = call.params['tagValue']
  return value === undefined ? call.param('tagName') : `${call.param('tagName')}=${value}`
}

/** Tags of one instance changed; an instance without tags is not kept. */
function withTags(
  said: Annotations,
  name: string,
  change: (tags: Readonly<Record<string, string>>) => Readonly<Record<string, string>>,
): Annotations {
  const { tags = {}, ...rest } = said
  const { [name]: before = {}, ...others } = tags
  const after = change(before)
  const all = Object.keys(after).length === 0 ? others : { ...others, [name]: after }
  return Object.keys(all).length === 0 ? rest : { ...rest, tags: all }
}

function without(tags: Readonly<Record<string, string>>, name: string): Readonly<Record<string, string>> {
  const { [name]: _, ...others } = tags
  return others
}

async function tag(call: Call): Promise<Answer> {
  const { server } = call
  const { name, value, isBare } = tagIn(call)
  await call.clusters.annotate(server.cluster.name, (said) =>
    withTags(said, server.name, (tags) => ({ ...tags, [name]: value })),
  )
  return ok(`${keyText(server.instance.Key)} tagged with ${isBare ? name : `${name}=${value}`}`, server.instance.Key)
}

async function untag(call: Call, servers: readonly Server[]): Promise<Answer> {
  const wanted = tagIn(call)
  const those = servers.filter(({ cluster, name }) =>
    hasTags(cluster.known.notes.annotations?.tags?.[name] ?? {}, [wanted]),
  )
  for (const { cluster, name } of those)
    await call.clusters.annotate(cluster.name, (said) => withTags(said, name, (tags) => without(tags, wanted.name)))
  return ok(
    `${wanted.name} removed from ${those.length} instances`,
    those.map(({ instance }) => instance.Key),
  )
}

function tagged(call: Call): Answer {
  const text = call.said('tag')
  const wanted = parseTags(text)
  if (wanted === undefined)
    throw bad(say`tags ${shown(text)} are not understood; allowed is a list with commas: name, name=value, ~name`)
  const those = call.servers.filter(({ cluster, name }) =>
    hasTags(cluster.known.notes.annotations?.tags?.[name] ?? {}, wanted),
  )
  return plain(those.map(({ instance }) => instance.Key))
}

function tagValue(call: Call): Answer {
  const { name } = tagIn(call)
  const tags = tagsSaid(call)
  if (!Object.hasOwn(tags, name)) return refused(`tag ${name} not found for ${keyText(call.server.instance.Key)}`)
  return plain(tags[name])
}

const keptInNotes = 'kept in the notes of the cluster: 32,768 characters for everything that is said of one cluster'

const tagRoutes: readonly Route[] = [
  { path: 'tags/:host/:port', does: 'the tags of a server', answer: (call) => plain(tagsOf(call.server)) },
  ...['tag-value/:host/:port', 'tag-value/:host/:port/:tagName'].map((path) => ({
    path,
    does: 'the value of a tag (tag=)',
    answer: tagValue,
  })),
  ...['tag/:host/:port', 'tag/:host/:port/:tagName/:tagValue'].map((path) => ({
    path,
    does: 'tags a server (tag=name=value)',
    differs: `${keptInNotes}. Names are of letters, digits and . _ : / @ -, so that every reader splits them alike`,
    changes: true as const,
    answer: tag,
  })),
  ...['untag/:host/:port', 'untag/:host/:port/:tagName'].map((path) => ({
    path,
    does: 'takes a tag away',
    changes: true as const,
    answer: async (call: Call) => untag(call, [call.server]),
  })),
  ...['untag-all', 'untag-all/:tagName/:tagValue'].map((path) => ({
    path,
    does: 'takes a tag away from all servers',
    changes: true as const,
    answer: async (call: Call) => untag(call, call.servers),
  })),
  ...['tagged', 'tagged/:host/:port'].map((path) => ({
    path,
    does: 'servers with all these tags',
    answer: tagged,
  })),
]

async function setAlias(call: Call): Promise<Answer> {
  const { cluster } = call
  const alias = call.said('alias')
  if (!/^[^\u0000-\u001f\u007f"\\]{1,200}$/.test(alias))
    throw bad(say`alias is missing; give ?alias=, 1 to 200 characters`)
  const taken = call.fleet.find((other) => other !== cluster && [other.alias, other.name].includes(alias))
  if (taken !== undefined)
    throw bad(say`alias ${shown(alias)} is that of another cluster already: ${taken.clusterName}`)
  await call.clusters.annotate(cluster.name, ({ alias: _, ...said }) =>
    alias === cluster.name ? said : { ...said, alias },
  )
  return ok(`Cluster ${cluster.clusterName} now has alias '${alias}'`)
}

/** For so long as orchestrator keeps one: scripts say it again from time to time. */
const candidateMs = 3_600_000

async function registerCandidate(call: Call): Promise<Answer> {
  const { server } = call
  const { cluster, instance } = server
  const rule = call.param('promotionRule')
  if (rule === 'must') return refused('CandidatePromotionRule: must not supported yet')
  const policy = policyOfRule(rule)
  if (policy === undefined)
    return refused(
      `Invalid CandidatePromotionRule: ${shown(rule)}; allowed are prefer, neutral, prefer_not and must_not`,
    )
  const others = cluster.servers.filter((other) => other !== server)
  if (policy.promotion === 'never' && others.every((other) => other.instance.PromotionRule === 'must_not'))
    return refused(`no instance of ${cluster.alias} could be primary any more: all others are must_not already`)
  const untilWallMs = cluster.known.wallMs + candidateMs
  await call.clusters.annotate(cluster.name, ({ promotions = {}, ...said }) => {
    const kept = Object.entries(promotions).filter(([, each]) => each.untilWallMs > cluster.known.wallMs)
    return { ...said, promotions: { ...Object.fromEntries(kept), [server.name]: { ...policy, untilWallMs } } }
  })
  return ok('Registered candidate', instance.Key)
}

/** The instances that a list names, by cluster. A server that is not known is left out, unless all are so. */
async function submitPool(call: Call): Promise<Answer> {
  const pool = call.param('pool')
  if (!/^[\w.-]{1,100}$/.test(pool))
    throw bad(say`pool ${shown(pool)} is not understood; allowed are letters, digits, . _ -`)
  const named = call
    .said('instances')
    .split(',')
    .filter((part) => part.trim() !== '')
  const { servers, unknown } = namedIn(call, named)
  for (const cluster of call.fleet) {
    const names = servers.filter((server) => server.cluster === cluster).map(({ name }) => name)
    if (names.length > 0 || cluster.known.notes.annotations?.pools?.[pool] !== undefined)
      await call.clusters.annotate(cluster.name, (said) => withPool(said, pool, names))
  }
  const rest = unknown.length === 0 ? '' : `; not known are ${unknown.join(', ')}`
  return ok(`Applied ${pool} pool instances${rest}`, pool)
}

/** Throws where no server of the list is known, and where a name means several servers. */
function namedIn(call: Call, named: readonly string[]) {
  const servers: Server[] = []
  const unknown: string[] = []
  let last: unknown
  for (const part of named) {
    const [host = '', port = '3306'] = part.trim().split(/:(?=\d+$)/)
    try {
      servers.push(call.named(host, port))
    } catch (error) {
      if (codeOf(error) !== 'REGENT_NOT_FOUND') throw error
      unknown.push(shown(`${host}:${port}`))
      last ??= error
    }
  }
  if (servers.length === 0 && unknown.length > 0) throw last
  return { servers, unknown }
}

function withPool(said: Annotations, pool: string, names: readonly string[]): Annotations {
  const { pools = {}, ...rest } = said
  const { [pool]: _, ...others } = pools
  const all = names.length === 0 ? others : { ...others, [pool]: [...new Set(names)] }
  return Object.keys(all).length === 0 ? rest : { ...rest, pools: all }
}

function poolsOf({ known, servers }: Cluster, pool: string): Readonly<Record<string, readonly Server[]>> {
  const pools = Object.entries(known.notes.annotations?.pools ?? {}).filter(([name]) => pool === '' || name === pool)
  return Object.fromEntries(
    pools.map(([name, members]) => [name, servers.filter((server) => members.includes(server.name))]),
  )
}

/** Servers of all pools that are asked for, as far as they are well. */
function inPools(call: Call): readonly Server[] {
  const all = Object.values(poolsOf(call.cluster, call.param('pool'))).flat()
  return [...new Set(all)].filter(({ instance }) => instance.IsLastCheckValid)
}

const withAndWithoutPool = (path: string, does: string, answer: Route['answer']): readonly Route[] =>
  [`${path}/:clusterHint`, `${path}/:clusterHint/:pool`].map((each) => ({ path: each, does, answer }))

const keysOf = (servers: readonly Server[]): readonly Key[] => servers.map(({ instance }) => instance.Key)

/** What people say of servers and clusters beside what these do. */
export const annotatingRoutes: readonly Route[] = [
  ...tagRoutes,
  {
    path: 'set-cluster-alias/:clusterHint',
    does: 'another name for a cluster (alias=)',
    differs:
      'the alias is that of the cluster, and stays when another server leads. Refused for a cluster that is not ' +
      'known, and where another one has that alias: nobody could tell which is meant',
    changes: true,
    answer: setAlias,
  },
  {
    path: 'register-candidate/:host/:port/:promotionRule',
    does: 'how gladly a server is chosen as primary, for an hour',
    differs:
      'in the place of the policy in the spec, which holds again after the hour: what is to last belongs there. ' +
      'prefer_not is the priority -1000, must_not the promotion never; a rule that leaves nobody is refused',
    changes: true,
    answer: registerCandidate,
  },
  {
    path: 'submit-pool-instances/:pool',
    does: 'which servers are in a pool (instances=)',
    differs:
      `${keptInNotes}, until somebody submits another list. A server that is not known is left out and told of, ` +
      'and is not in the pool once known; a list of which nobody is known is refused: the pool would be empty',
    changes: true,
    answer: submitPool,
  },
  ...withAndWithoutPool('cluster-pool-instances', 'the servers of each pool', (call) =>
    ok(
      `Read pool instances for cluster ${call.cluster.clusterName}`,
      Object.fromEntries(
        Object.entries(poolsOf(call.cluster, call.param('pool'))).map(([name, servers]) => [name, keysOf(servers)]),
      ),
    ),
  ),
  ...withAndWithoutPool('heuristic-cluster-pool-instances', 'the servers of pools that are well', (call) =>
    ok(
      `Heuristic pool instances for cluster ${call.cluster.clusterName}`,
      inPools(call).map(({ instance }) => instance),
    ),
  ),
  ...withAndWithoutPool('heuristic-cluster-pool-lag', 'the largest lag of these', (call) =>
    ok(
      `Heuristic pool lag for cluster ${call.cluster.clusterName}`,
      Math.max(0, ...inPools(call).map(({ instance }) => instance.ReplicationLagSeconds.Int64)),
    ),
  ),
]

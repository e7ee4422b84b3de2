import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { TopologyView } from '#api-contract/views.ts'
import { ProblemBook } from '#manager/clusters/problem-book.ts'
import { realWorld } from '#common/ports/real-world.ts'
import { emptyNotes } from '#failover/protocol/notes.ts'
import { hostsOf, type AdoptedHost, type Adoption } from '../adoption.ts'
import { addressText } from '../host-address.ts'
import { readFacts } from '../servers/read-server.ts'
import { ServerSession, whyNoMysql } from '../servers/session.ts'
import { HostWatcher } from './host-watcher.ts'
import { judge, type Judgement } from './judge.ts'
import { sourceOf, treeOf } from './links.ts'
import { answers, type AnsweredLook, type Look } from './look.ts'
import { reachInFull, sizeOf } from './primary.ts'
import { loginOf } from './login.ts'
import { watchedTopology } from './views.ts'

const deadlineMs = 2_000
/** Between two looks: what a replica has beyond its source is proven by the second. */
const betweenLooksMs = 300

export interface Checked {
  readonly looks: readonly Look[]
  readonly judgement: Judgement
  /** Why these servers cannot be adopted so, a sentence each; none where they can. */
  readonly refusals: readonly string[]
}

/** Looks at every server of an adoption, and says what is wrong with the file; nothing is kept. */
export async function checkServers(adoption: Adoption): Promise<Checked> {
  const hosts = hostsOf(adoption)
  const watchers = hosts.map(
    (host) => new HostWatcher(host, { login: () => loginOf(host), clock: realWorld.clock, saw: () => undefined }),
  )
  const lookAtAll = (): Promise<unknown> =>
    Promise.all(watchers.map((watcher) => watcher.look().catch(() => undefined)))
  await lookAtAll()
  await sleep(betweenLooksMs)
  await lookAtAll()
  const looks = watchers.map(({ newest }) => newest)
  for (const watcher of watchers) watcher.stop()
  const judgement = judge({ adoption, looks, before: null, nowMs: realWorld.clock.monotonicMs() })
  const ofHosts = (await Promise.all(looks.map((look) => refusalsOf(look)))).flat()
  return { looks, judgement, refusals: [...ofHosts, ...refusalsOfAll(adoption, looks)] }
}

/** As the manager would show it. */
export function topologyOf(adoption: Adoption, { looks, judgement }: Checked): TopologyView {
  const wallMs = realWorld.clock.wallMs()
  return watchedTopology({ adoption, looks, judgement, problems: new ProblemBook(), wallMs, notes: emptyNotes })
}

async function refusalsOf(look: Look): Promise<readonly string[]> {
  const { host, reach } = look
  const name = `${host.instance} at ${addressText(host)}`
  if (answers(look)) return [...blindness(look), ...(await severalServers(host))]
  const why = reach === 'lockedOut' || reach === 'full' ? '' : await whyNoMysql(host, deadlineMs)
  if (why !== '') return [`${name}: ${why}`]
  // A server that is down now may be adopted all the same: watching is for that.
  return reach === 'refused' || reach === 'silent' || reach === 'full' ? [] : [`${name}: ${String(reachInFull(look))}`]
}

/** An account that does not see whom a replica follows sees nothing. */
function blindness({ host, server: { lacks, dialect } }: AnsweredLook): readonly string[] {
  if (!lacks.includes(dialect.monitor)) return []
  const grant = `GRANT ${lacks.join(', ')} ON *.* TO '${host.mysql.user}'`
  return [
    `${host.instance} at ${addressText(host)}: account ${host.mysql.user} may not see replication; give it: ${grant}`,
  ]
}

/** A name of several addresses is fine where all of them are one server. */
export async function severalServers(
  host: AdoptedHost,
  { resolve = addressesOf, identify = identityAt } = {},
): Promise<readonly string[]> {
  if (isIP(host.host) !== 0) return []
  const found = await resolve(host.host)
  if (found.length < 2) return []
  const identities = await Promise.all(found.map((address) => identify({ ...host, host: address })))
  const servers = new Set(identities.filter((one) => one !== undefined))
  return servers.size < 2
    ? []
    : [
        `${host.instance}: ${host.host} has the addresses ${found.join(', ')}, which are ${servers.size} servers: name each by itself`,
      ]
}

/** None for a name that nobody knows. */
async function addressesOf(name: string): Promise<readonly string[]> {
  const found = await lookup(name, { all: true }).catch(() => [])
  return found.map(({ address }) => address)
}

async function identityAt(host: AdoptedHost): Promise<string | undefined> {
  try {
    const session = await ServerSession.open(host, await loginOf(host), deadlineMs)
    try {
      return identityOf(await readFacts(session, deadlineMs))
    } finally {
      session.close()
    }
  } catch {
    return undefined
  }
}

function identityOf({
  uuid,
  hostname,
  port,
  dataDir,
}: {
  uuid: string
  hostname: string
  port: number
  dataDir: string
}) {
  return [uuid, hostname, port, dataDir].join(' ')
}

/** What is wrong with these servers together. Pure. */
export function refusalsOfAll(adoption: Adoption, looks: readonly Look[]): readonly string[] {
  const answering = looks.filter(answers)
  if (answering.length === 0) return ['no server answers: nothing is known of this cluster']
  return [...twins(looks), ...strangers(adoption, looks), ...loops(adoption, looks)]
}

/** A server under two names, or two servers that take themselves for one. */
function twins(looks: readonly Look[]): readonly string[] {
  return looks.filter(answers).flatMap((look, at, all) => {
    const twin = all.slice(0, at).find(({ server }) => server.uuid !== '' && server.uuid === look.server.uuid)
    if (twin === undefined) return []
    const [one, other] = [twin.host, look.host].map((host) => `${host.instance} at ${addressText(host)}`)
    return identityOf(twin.server) === identityOf(look.server)
      ? [`${other} and ${one} are one server (server_uuid ${look.server.uuid}): name each server once`]
      : [`${other} has the server_uuid of ${one}, ${look.server.uuid}: remove auto.cnf there, then restart that server`]
  })
}

/** Servers that neither follow the others nor are followed by them. */
function strangers({ cluster }: Adoption, looks: readonly Look[]): readonly string[] {
  const roots = treeOf(cluster, looks).roots.filter(({ instance, source, followers }) => {
    const look = looks.find(({ host }) => host.instance === instance)
    return look !== undefined && answers(look) && (source.kind !== 'stranger' || followers.length > 0)
  })
  const [largest, ...others] = roots.toSorted((one, other) => sizeOf(other) - sizeOf(one))
  return others
    .filter(({ followers }) => followers.length > 0)
    .map(
      (root) =>
        `two clusters are in one file: ${largest?.instance} leads ${largest?.followers.map(({ instance }) => instance).join(', ')}, ` +
        `${root.instance} leads ${root.followers.map(({ instance }) => instance).join(', ')}; make a file for each`,
    )
}

/** Two may follow each other; more of them in a ring have no primary that anybody could name. */
function loops({ cluster }: Adoption, looks: readonly Look[]): readonly string[] {
  return treeOf(cluster, looks)
    .cycles.filter((ring) => ring.length > 2)
    .map((ring) => `${ring.join(' follows ')} follows ${ring[0]}: a ring of more than two has no primary`)
}

/** Whom a replica follows that is none of the file. */
export function missingSources(looks: readonly Look[]): readonly string[] {
  return looks.flatMap(({ host, server }) =>
    (server?.channels ?? [])
      .filter((channel) => sourceOf(channel, looks) === undefined)
      .map(
        ({ sourceHost, sourcePort }) =>
          `${host.instance} follows ${addressText({ host: sourceHost, port: sourcePort })}`,
      ),
  )
}

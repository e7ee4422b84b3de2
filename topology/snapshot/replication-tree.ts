import type { InstanceName } from './member.ts'
import type { DumpThread } from './observation.ts'
import type { InstanceView, Snapshot } from './snapshot.ts'

/**
 * Whom an instance follows: `unknown` where its server never answered, `stranger` where the source is none of the
 * cluster.
 */
export type SourceLink =
  | { readonly kind: 'none' }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'instance'; readonly instance: InstanceName; readonly running: boolean }
  | { readonly kind: 'stranger'; readonly host: string; readonly port: number; readonly running: boolean }

export interface ReplicationNode {
  readonly instance: InstanceName
  readonly source: SourceLink
  readonly followers: readonly ReplicationNode[]
}

/** A server outside of the cluster that reads an instance's binlog. */
interface StrangeFollower {
  readonly of: InstanceName
  readonly user: string
  readonly host: string
  readonly serverUuid: string
  readonly semiSync: boolean
}

/**
 * The tree of replication, as the instances' channels say; plain data to be drawn. Every instance is in the tree
 * exactly once.
 */
export interface ReplicationTree {
  /** Instances that follow none of the cluster's; of each cycle its first instance. */
  readonly roots: readonly ReplicationNode[]
  /**
   * Instances that follow each other in a ring, each list in the order of who follows whom, beginning with its root.
   */
  readonly cycles: readonly (readonly InstanceName[])[]
  readonly strangeFollowers: readonly StrangeFollower[]
}

export function buildReplicationTree(snapshot: Snapshot): ReplicationTree {
  const links = new Map(snapshot.instances.map((view) => [view.name, sourceLinkOf(view, snapshot)] as const))
  const cycles = findCycles(links)
  const ringHeads = new Set(cycles.map(([head]) => head))
  const rootNames = [...links]
    .filter(([name, link]) => link.kind !== 'instance' || ringHeads.has(name))
    .map(([name]) => name)
  const roots = new Set(rootNames)
  return {
    roots: rootNames.map((name) => nodeOf(name, links, roots)),
    cycles,
    strangeFollowers: snapshot.instances.flatMap((view) => strangeFollowersOf(view, snapshot)),
  }
}

/**
 * Where nobody is. The channel of one that is to lead points there while its options are put right: its receiver must
 * hear nobody.
 */
export const nobodysAddress = { host: '127.0.0.1', port: 1 } as const

/** Sources are matched by the address their followers connect to. A channel counts whether or not it runs. */
export function sourceLinkOf(view: InstanceView, snapshot: Snapshot): SourceLink {
  const server = view.observation?.server
  if (server === null || server === undefined) return { kind: 'unknown' }
  if (server.channel === null) return { kind: 'none' }
  const { sourceHost: host, sourcePort: port, ioRunning } = server.channel
  if (host === nobodysAddress.host && port === nobodysAddress.port) return { kind: 'none' }
  const running = ioRunning === 'yes'
  const source = snapshot.instances.find((other) => other.host === host && other.port === port)
  return source === undefined
    ? { kind: 'stranger', host, port, running }
    : { kind: 'instance', instance: source.name, running }
}

type Links = ReadonlyMap<InstanceName, SourceLink>

function nodeOf(instance: InstanceName, links: Links, roots: ReadonlySet<InstanceName>): ReplicationNode {
  const followers = [...links.keys()].filter((name) => !roots.has(name) && followedBy(name, links) === instance)
  return {
    instance,
    source: links.get(instance) ?? { kind: 'unknown' },
    followers: followers.map((follower) => nodeOf(follower, links, roots)),
  }
}

function followedBy(instance: InstanceName, links: Links): InstanceName | undefined {
  const link = links.get(instance)
  return link?.kind === 'instance' ? link.instance : undefined
}

/** Everybody has at most one source, so a walk from each instance ends at a root or in a ring. */
function findCycles(links: Links): readonly (readonly InstanceName[])[] {
  const seen = new Set<InstanceName>()
  const cycles: (readonly InstanceName[])[] = []
  for (const start of links.keys()) {
    const path: InstanceName[] = []
    let at: InstanceName | undefined = start
    while (at !== undefined && !seen.has(at)) {
      seen.add(at)
      path.push(at)
      at = followedBy(at, links)
    }
    if (at !== undefined && path.includes(at)) cycles.push(path.slice(path.indexOf(at)))
  }
  return cycles
}

function strangeFollowersOf(view: InstanceView, snapshot: Snapshot): readonly StrangeFollower[] {
  const threads = view.observation?.server?.dumpThreads ?? []
  return threads
    .filter((thread) => followerOf(thread, snapshot) === undefined)
    .map(({ user, host, serverUuid, semiSync }) => ({ of: view.name, user, host, serverUuid, semiSync }))
}

/** The instance a dump thread serves, by the `server_uuid` it announced. */
function followerOf(thread: DumpThread, snapshot: Snapshot): InstanceView | undefined {
  if (thread.serverUuid === '') return undefined
  return snapshot.instances.find((view) => view.observation?.server?.uuid === thread.serverUuid)
}

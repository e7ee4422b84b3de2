import { instanceOf } from '#topology/snapshot/member.ts'
import { sourceLinkOf } from '#topology/snapshot/replication-tree.ts'
import type { InstanceView } from '#topology/snapshot/snapshot.ts'
import type { KnownCluster } from '#manager/clusters/cluster-service.ts'
import { instanceDocument, type Surroundings } from '../documents/instance-of.ts'
import type { Instance } from '../documents/instance.ts'
import { keyText, type Key } from '../documents/key.ts'

/** How servers are called: by the address where their mysqld listens, or by the name of the instance. */
export type HostNames = 'address' | 'name'

export interface Server {
  readonly name: string
  readonly key: Key
  /** Where its mysqld listens, whatever the server is called. */
  readonly host: string
  readonly port: number
  readonly cluster: Cluster
  /** Made when somebody looks: most calls are about one cluster of many. */
  readonly instance: Instance
  /** Its agent is heard, and its mysqld does not answer. */
  readonly isHalfSeen: boolean
}

export interface Cluster {
  /** As Regent names it. */
  readonly name: string
  /** `host:port` of the primary: so orchestrator names clusters. */
  readonly clusterName: string
  /** The instance that leads; undefined while nobody knows. Then the cluster is named after its first server. */
  readonly primary: string | undefined
  readonly alias: string
  readonly known: KnownCluster
  /** Its servers are those of somebody else, and moved where a person asks for that; nothing else is done there. */
  readonly isWatched: boolean
  /** Without those that are hidden. */
  readonly servers: readonly Server[]
  /** Keys of all instances, the hidden ones too. */
  keyOf(name: string): Key | undefined
}

/** The server that leads; undefined while nobody knows, or where it is none of those that are known. */
export function headOf({ servers, primary }: Cluster): Server | undefined {
  return servers.find(({ name }) => name === primary)
}

/** The server that leads, where it takes writes: scripts take from lists the server that they write to. */
export function writableHeadOf(cluster: Cluster): Server | undefined {
  const head = headOf(cluster)
  return head?.instance.ReadOnly === false ? head : undefined
}

/** Every cluster that is known, as orchestrator would see it. */
export function fleetOf(known: readonly KnownCluster[], hostNames: HostNames): readonly Cluster[] {
  return known.map((one) => clusterOf(one, hostNames)).filter(({ servers }) => servers.length > 0)
}

function clusterOf(known: KnownCluster, hostNames: HostNames): Cluster {
  const { name, snapshot, notes, watched } = known
  const keyOf = (view: InstanceView): Key => ({
    Hostname: hostNames === 'name' ? view.name : view.host,
    Port: view.port,
  })
  const viewNamed = (wanted: string | undefined) => snapshot.instances.find((view) => view.name === wanted)
  const primary = primaryOf(known)
  const head = viewNamed(primary) ?? snapshot.instances[0]
  const tree = linksOf(known, keyOf)
  const around: Surroundings = {
    known,
    clusterName: head === undefined ? '' : keyText(keyOf(head)),
    alias: notes.annotations?.alias ?? name,
    keyOf,
    ...tree,
    depthOf: (view) => (isSecondary(view) ? 1 : tree.depthOf(view)),
  }
  const servers: Server[] = []
  const cluster: Cluster = {
    name,
    clusterName: around.clusterName,
    primary,
    alias: around.alias,
    known,
    isWatched: watched !== undefined,
    servers,
    keyOf(wanted) {
      const view = viewNamed(wanted)
      return view && keyOf(view)
    },
  }
  for (const view of shownOf(known, primary))
    servers.push({
      name: view.name,
      key: keyOf(view),
      ...{ host: view.host, port: view.port },
      cluster,
      get instance() {
        const document = instanceDocument(view, around)
        Object.defineProperty(this, 'instance', { value: document })
        return document
      },
      isHalfSeen: view.reachable && view.observation?.process === 'running',
    })
  return cluster
}

/** By the record; without one whom most follow. */
function primaryOf({ record, watched }: KnownCluster): string | undefined {
  return watched === undefined ? record && instanceOf(record.primary) : (watched.primary ?? undefined)
}

function isSecondary(view: InstanceView): boolean {
  const server = view.observation?.server
  return server?.group?.members.find(({ uuid }) => uuid === server.uuid)?.role === 'SECONDARY'
}

/** A primary is shown whatever was said, unless the whole cluster is hidden. */
function shownOf({ snapshot, notes }: KnownCluster, primary: string | undefined): readonly InstanceView[] {
  const hidden = new Set(notes.annotations?.hidden ?? [])
  const isWhole = snapshot.instances.every(({ name }) => hidden.has(name))
  return isWhole ? [] : snapshot.instances.filter(({ name }) => name === primary || !hidden.has(name))
}

/** Links from each instance to its source. A source outside of the cluster is named by its address. */
function linksOf({ snapshot }: KnownCluster, keyOf: (view: InstanceView) => Key) {
  const byName = new Map(snapshot.instances.map((view) => [view.name, view] as const))
  const links = new Map(snapshot.instances.map((view) => [view.name, sourceLinkOf(view, snapshot)] as const))
  const sourceName = (name: string): string | undefined => {
    const link = links.get(name)
    return link?.kind === 'instance' ? link.instance : undefined
  }
  const isInRing = (name: string): boolean => {
    const seen = new Set<string>()
    for (let at = sourceName(name); at !== undefined && !seen.has(at); at = sourceName(at)) seen.add(at)
    return seen.has(name)
  }
  // Instances that follow each other in a ring all stand at the top.
  const depthOf = ({ name }: InstanceView): number => {
    let depth = 0
    for (let at = name; !isInRing(at); depth += 1) {
      const source = sourceName(at)
      if (source === undefined) break
      at = source
    }
    return depth
  }
  return {
    sourceOf(view: InstanceView): Key | undefined {
      const link = links.get(view.name)
      if (link?.kind === 'stranger') return { Hostname: link.host, Port: link.port }
      const source = byName.get(sourceName(view.name) ?? '')
      return source && keyOf(source)
    },
    followersOf: (view: InstanceView) =>
      snapshot.instances.filter(({ name }) => sourceName(name) === view.name).map(keyOf),
    depthOf,
    isCoMaster(view: InstanceView): boolean {
      const source = sourceName(view.name)
      return source !== undefined && sourceName(source) === view.name
    },
  }
}

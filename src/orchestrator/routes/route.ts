import type { Timers } from '#common/ports/ports.ts'
import type { ClusterNotes } from '#failover/protocol/notes.ts'
import type { Cluster, HostNames, Server } from '../fleet/fleet.ts'
import { fleetOf } from '../fleet/fleet.ts'
import { clusterOfHint, serverAt, type Names } from '../fleet/hints.ts'
import type { ClusterService, KnownCluster } from '#manager/clusters/cluster-service.ts'
import type { Hands } from '../trees/hands.ts'
import type { Turns } from '../trees/turns.ts'
import type { Answer } from './answers.ts'
import type { Background } from './background.ts'

/** A route of orchestrator’s: the server and its page in docs/ are made from the table of these. */
export interface Route {
  /** Below `/api/`, with `:name` for a part that is given. Where it says replica, orchestrator's old word works too. */
  readonly path: string
  /** What the route does here. */
  readonly does: string
  /** What is otherwise than at orchestrator, and why. Absent for nothing. */
  readonly differs?: string
  /** The same of a cluster that is only watched, where there is a difference between the two kinds. */
  readonly watched?: string
  /** Only a manager that leads takes the call, and none that is read-only. */
  readonly changes?: true
  /** The route is for the manager that is asked, whichever leads. */
  readonly ofManager?: true
  answer(call: Call): Answer | Promise<Answer>
}

/** What a request asks, and whom. */
export class Call {
  readonly params: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
  readonly clusters: ClusterService
  /** The caller, as far as it is known. */
  readonly who: string
  readonly timers: Timers
  /** Absent where no cluster is only watched. */
  readonly hands: Hands | undefined
  readonly turns: Turns
  /** What goes on once the answer is given. */
  readonly background: Background
  readonly #hostNames: HostNames
  readonly #names: Names
  readonly #isChange: boolean
  #known: readonly KnownCluster[] | undefined
  #fleet: readonly Cluster[] | undefined

  constructor(
    clusters: ClusterService,
    { hosts, names, isChange }: { readonly hosts: HostNames; readonly names: Names; readonly isChange: boolean },
    asked: {
      readonly params: Readonly<Record<string, string>>
      readonly query: Readonly<Record<string, string>>
      readonly who: string
      readonly timers: Timers
      readonly hands?: Hands | undefined
      readonly turns: Turns
      readonly background: Background
    },
  ) {
    this.clusters = clusters
    this.#hostNames = hosts
    this.#names = names
    this.#isChange = isChange
    this.params = asked.params
    this.query = asked.query
    this.who = asked.who
    this.timers = asked.timers
    this.hands = asked.hands
    this.turns = asked.turns
    this.background = asked.background
  }

  /** As it was when it was asked for first. */
  get fleet(): readonly Cluster[] {
    return (this.#fleet ??= fleetOf(this.#seen, this.#hostNames))
  }

  get #seen(): readonly KnownCluster[] {
    return (this.#known ??= this.clusters.known())
  }

  /** Something was changed: what is asked next is looked at again. */
  look(): this {
    this.#known = undefined
    this.#fleet = undefined
    return this
  }

  param(name: string): string {
    return this.params[name] ?? ''
  }

  /** A value that scripts give in the path or in the query. */
  said(name: string, inQuery = name): string {
    return this.params[name] ?? this.query[inQuery] ?? ''
  }

  get servers(): readonly Server[] {
    return this.fleet.flatMap(({ servers }) => servers)
  }

  /** Named by `:host/:port`. */
  get server(): Server {
    return this.named(this.param('host'), this.param('port'))
  }

  /** Every server, also those that somebody wanted forgotten. */
  get wholeFleet(): readonly Cluster[] {
    const known = this.clusters.known().map((one) => ({ ...one, notes: withoutHidden(one.notes) }))
    return fleetOf(known, this.#hostNames)
  }

  /** Named by `:host/:port`, also where somebody wanted it forgotten. */
  get hiddenOrShown(): Server {
    return this.hiddenOrShownAt(this.param('host'), this.param('port'))
  }

  hiddenOrShownAt(host: string, port: string): Server {
    const server = serverAt(this.wholeFleet, { host, port }, this.#namesFor(host))
    const said = this.clusters.known().find(({ name }) => name === server.cluster.name)
    return { ...server, cluster: { ...server.cluster, known: said ?? server.cluster.known } }
  }

  /** Named by `:host/:port`, in full: of what is gone a part must not mean another server. */
  get exactServer(): Server {
    return serverAt(this.fleet, { host: this.param('host'), port: this.param('port') }, 'exact')
  }

  /** Named by `:clusterHint`, in full, as `exactServer` is. */
  get exactCluster(): Cluster {
    return clusterOfHint(this.fleet, this.said('clusterHint'), 'exact')
  }

  /** Named by `:clusterHint`, or by one of its servers. */
  get cluster(): Cluster {
    return this.params['host'] === undefined ? this.clusterNamed(this.said('clusterHint')) : this.server.cluster
  }

  clusterNamed(hint: string): Cluster {
    return clusterOfHint(this.fleet, hint, this.#namesFor(hint))
  }

  named(host: string, port: string): Server {
    return serverAt(this.fleet, { host, port }, this.#namesFor(host))
  }

  /**
   * The name of a server, or of a cluster, that was forgotten is a part of no other one’s name. Where something is
   * changed the whole name of an instance is none, either: `shop-0`, which is not known yet, is not `webshop-0`.
   */
  #namesFor(hint: string): Names {
    const [first = ''] = hint.split(':', 1)
    const isForgotten = this.#seen.some(({ name, notes: { annotations: { alias, hidden = [] } = {} } }) => {
      return hidden.includes(first) || hint === name || hint === alias || name.endsWith(`.${hint}`)
    })
    if (isForgotten) return 'exact'
    return this.#names === 'parts' && this.#isChange && isWholeName(first) ? 'labels' : this.#names
  }

  /** The other server that a path names, such as `belowHost` and `belowPort`. */
  other(prefix: string): Server | undefined {
    const host = this.params[`${prefix}Host`]
    return host === undefined ? undefined : this.named(host, this.param(`${prefix}Port`))
  }
}

function withoutHidden(notes: ClusterNotes): ClusterNotes {
  const { annotations: { hidden: _, ...said } = {} } = notes
  return { ...notes, annotations: said }
}

function isWholeName(text: string): boolean {
  return /^[a-z][a-z0-9-]*-\d{1,2}$/.test(text)
}

import type { ClusterRecord } from '#failover/protocol/record.ts'
import type { PrimaryRoute } from '#common/ports/platform.ts'
import type { Happening } from '../happening.ts'
import type { SimulatedCluster } from '../simulated-cluster.ts'
import { wrongCommit } from './commits.ts'
import { wronglyCut, wronglyGivenUp, type Told } from './destroyed.ts'
import { observationIn, wronglyObeyed, type Answered } from './obeyed.ts'
import { Openings } from './openings.ts'
import { Standing } from './standing.ts'
import { Words } from './words.ts'

/**
 * Looks at each step, at the moment of the step, whether that step keeps the invariant (docs/why/safety.md). A step
 * that breaks a rule loses a write only where the wrong server dies next: this finds the step itself.
 */
export class Watch {
  readonly #words: Words
  readonly #openings: Openings
  readonly #standing: Standing
  readonly #cluster: SimulatedCluster
  readonly #clients: Told
  /** The first rule that was broken. */
  broken: string | undefined

  constructor(cluster: SimulatedCluster, clients: Told) {
    this.#cluster = cluster
    this.#clients = clients
    this.#words = new Words(cluster)
    this.#openings = new Openings(cluster, this.#words.onDisk)
    this.#standing = new Standing(cluster)
    cluster.onHappening((happening) => {
      if (!isOfGroup(happening)) this.#see(happening)
    })
  }

  /** The record has changed, or some time has passed. */
  look(): void {
    this.#found('standing', this.#standing.look())
  }

  #see(happening: Exclude<Happening, OfGroup>): void {
    switch (happening.kind) {
      case 'said':
        return this.#found('word', this.#words.hear(happening.machine, happening.observation))
      case 'answered':
        return this.#answered(happening)
      case 'opened':
        return this.#found('opening', this.#openings.opened(happening.machine))
      case 'started':
        return this.#found('start', this.#openings.started(happening.machine))
      case 'routed':
        return this.#found('route', this.#wrongRoute(happening.route))
      case 'committed':
        return this.#committed(happening.before, happening.record)
      case 'gaveUp':
        return this.#found('data', wronglyGivenUp(this.#cluster, happening))
      case 'cut':
        return this.#found('data', wronglyCut(this.#clients, happening))
      case 'ordered':
        return this.#openings.ordered(happening.machine, happening.order)
    }
  }

  #answered(answered: Answered): void {
    this.#found('order', wronglyObeyed(this.#cluster, answered))
    const observation = observationIn(answered)
    if (observation === undefined) return
    const machine = this.#cluster.machine(observation.instance)
    this.#openings.obeyed(machine, answered.order)
    this.#found('word', this.#words.hear(machine, observation))
  }

  #committed(before: ClusterRecord | undefined, after: ClusterRecord): void {
    this.#openings.committed(after)
    if (before !== undefined)
      this.#found('commit', wrongCommit({ cluster: this.#cluster, words: this.#words, before, after }))
  }

  #wrongRoute({ epoch, instance }: PrimaryRoute): string | undefined {
    const primary = this.#openings.primaryOf(epoch)
    return primary === instance
      ? undefined
      : `clients are sent to ${instance} of epoch ${epoch}, whose primary is ${primary ?? 'nobody yet'}`
  }

  #found(what: string, wrong: string | undefined): void {
    if (wrong !== undefined) this.broken ??= `${what}: ${wrong}`
  }
}

type OfGroup = Extract<Happening, { kind: 'formed' | 'removing' | 'anotherRemoved' }>

/** A replication group has rules of its own (`group/watch.ts`). */
function isOfGroup(happening: Happening): happening is OfGroup {
  return ['formed', 'removing', 'anotherRemoved'].includes(happening.kind)
}

import { command, printed, say, text, type Sentence, typedFor } from '#common/sentence/sentence.ts'
import { RegentError } from '#common/errors/errors.ts'
import type { Platform } from '#common/ports/platform.ts'
import type { Transport, World } from '#common/ports/ports.ts'
import type { DecisionInput, Request, Situation } from '#failover/judge/situation.ts'
import { endOfPause } from '#failover/flows/resuming.ts'
import { inWords, wayOut } from '#failover/way-out/way-out.ts'
import type { ClusterLoop } from '#manager/loop/cluster-loop.ts'
import type { HookPort } from '#manager/loop/hooks/hook-port.ts'
import type { EndedRecovery } from '#manager/loop/books/recovery-book.ts'

/** What operations need of a cluster, and tell it. */
export interface OperatedCluster {
  readonly loop: ClusterLoop
  readonly world: World
  readonly platform: Pick<Platform, 'wish' | 'replace'>
  readonly transport: Transport
  readonly hooks: HookPort
  /** Whether the resource asks for a pause, whoever began the pause that there is. */
  isPausedByResource(): boolean
  /** Resolves when such a recovery of the cluster ended. */
  ended(matches: (recovery: EndedRecovery) => boolean, timeoutMs: number): Promise<EndedRecovery | undefined>
  /** Something that was asked for is refused, and why. */
  declined(sentence: string): void
}

/** What to do about a refusal that names no command. */
export function askAgain(place: DecisionInput['place']): string {
  const words = say`Ask again once the reason in the message is gone: ${command('explain')} shows when, and what ends it.`
  return printed(words, place)
}

/** A request of a person, and the cluster as it is when the request comes. */
export class Asking {
  readonly cluster: OperatedCluster
  readonly input: DecisionInput
  readonly #dryRun: boolean

  constructor(cluster: OperatedCluster, dryRun: boolean) {
    this.cluster = cluster
    this.input = cluster.loop.input()
    this.#dryRun = dryRun
  }

  /** Throws where the cluster has no record. */
  situation(): Situation {
    const { record, cluster } = this.input
    if (record === undefined)
      throw new RegentError(
        'REGENT_REFUSED',
        say`cluster ${cluster} has no primary yet: ${this.cluster.loop.decision?.sentence ?? say`it is starting`}`,
        { remedy: askAgain(this.input.place) },
      )
    return { ...this.input, record }
  }

  mustExist(instance: string): void {
    const known = this.input.snapshot.instances.map(({ name }) => name)
    if (!known.includes(instance))
      throw new RegentError('REGENT_NOT_FOUND', say`there is no instance ${instance}; there are ${known.join(', ')}`)
  }

  /** For what the manager is to do afterwards: nothing is decided while the cluster is paused. */
  mustNotBePaused(what: Sentence): void {
    const { notes, cluster } = this.situation()
    const { paused } = notes
    if (paused)
      throw this.refusal(
        say`${what}: the cluster is paused (${text(paused.reason)}); ${endOfPause(paused, cluster)} first`,
      )
  }

  /** A person who asks while another request is under way would hear how that other one ends. */
  mustBeAlone(kind: Request['kind']): void {
    if (this.input.requests.some((other) => other.kind === kind))
      throw this.refusal(say`no ${kind}: another one was asked for and has not ended`)
  }

  /** A dry run only asks: nobody else is told. */
  refusal(sentence: Sentence): RegentError {
    const whole = this.#withWayOut(sentence)
    const said = typedFor(whole, this.input.place)
    if (!this.#dryRun) this.cluster.declined(String(said))
    return new RegentError('REGENT_REFUSED', said, { remedy: whole.namesCommand ? '' : askAgain(this.input.place) })
  }

  /** The sentence, with the commands of the place where the cluster is. */
  printed(sentence: Sentence | string): string {
    return printed(sentence, this.input.place)
  }

  /** A refusal while the cluster takes no writes says what ends that, unless it was said. */
  #withWayOut(sentence: Sentence): Sentence {
    const found = wayOut(this.cluster.loop.input())
    const isSaid = (words: string) => String(sentence).includes(words)
    if (found === null || (found.command !== null && isSaid(inWords(found.command)))) return sentence
    return isSaid(String(found.sentence)) ? sentence : say`${sentence}; ${found.sentence}`
  }
}

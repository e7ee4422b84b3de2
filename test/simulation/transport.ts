import type { Agent } from '#agents/agent.ts'
import { codeOf, described, RegentError } from '#common/errors/errors.ts'
import { say, type Sayable } from '#common/sentence/sentence.ts'
import type { Transport } from '#common/ports/ports.ts'
import type { Follower } from '#failover/protocol/message.ts'
import type { AgentFeed, FeedListener } from '#manager/loop/agent-feed.ts'
import type { Observation } from '#topology/snapshot/observation.ts'
import { asJson } from './as-json.ts'
import type { HeldLetters } from './held-letters.ts'
import type { Network } from './network.ts'
import type { ProcessLife } from './process-life.ts'
import type { SeededRandom } from './seeded-random.ts'
import type { VirtualTime } from './virtual-time.ts'

/** An agent that listens, and the program it runs in. */
export interface Listening {
  readonly name: string
  /** Where it runs, as the network knows that. */
  readonly place: string
  readonly life: ProcessLife
  readonly agent: Agent
  /** Told of each order that arrives, before the agent hears of the order. */
  readonly ordered: (path: string, order: unknown) => void
  /** Of the agent of a far server: why it sees nothing there and refuses everybody; null while it sees. */
  readonly whyBlind?: () => RegentError | null
  /** What ends the connections to it that are open. */
  readonly connections: Set<() => void>
}

export interface TransportPorts {
  readonly time: VirtualTime
  readonly random: SeededRandom
  readonly network: Network
  readonly held: HeldLetters
  readonly observed: (name: string, observation: Observation) => void
  readonly answered: (path: string, order: unknown, answer: unknown) => void
  /** Who listens at `host:port`; name and place also where nobody does. */
  readonly at: (
    address: string,
  ) => { readonly name: string; readonly place: string; readonly listening: Listening | null } | undefined
}

/** Requests may be late, lost, or arrive twice. */
export function simulatedTransport(from: string, ports: TransportPorts): Transport {
  const { time, random, network, held, at } = ports
  return {
    post: (address, path, body, deadlineMs) =>
      new Promise((resolve, reject) => {
        const to = at(address)
        if (to === undefined) throw new Error(`nothing is at ${address}`)
        const sent = asJson(body)
        const unreachable = (why: Sayable): void =>
          reject(new RegentError('REGENT_AGENT_UNREACHABLE', say`the agent at ${address} did not answer: ${why}`))
        const back = (answer: () => void): void => {
          time.after(network.delayMs(), () => {
            if (!network.reaches(to.place, from)) return
            deadline.cancel()
            answer()
          })
        }
        const arrives = (listening = to.listening): void => {
          if (!network.reaches(from, to.place)) return
          if (listening === null) return back(() => unreachable(say`connection refused`))
          listening.life.enter(() => {
            const blind = listening.whyBlind?.() ?? null
            if (blind !== null) return back(() => reject(blind))
            listening.ordered(path, sent)
            const handler = listening.agent.orders.get(path)
            if (handler === undefined) throw new Error(`no agent knows ${path}`)
            const reset = (): void => back(() => unreachable(say`connection reset`))
            listening.connections.add(reset)
            const answering = handler(sent).finally(() => listening.connections.delete(reset))
            answering.then(
              (answer) => {
                ports.answered(path, body, answer)
                const said = asJson(answer)
                back(() => resolve(said))
              },
              (error: unknown) => back(() => reject(new RegentError(codeOf(error), say`${described(error)}`))),
            )
          })
        }
        const letter = { from, to: to.name, path, body }
        time.after(network.delayMs(), () => {
          if (!held.keep(letter, () => arrives(at(address)?.listening))) arrives(at(address)?.listening)
        })
        if (random.chance(network.repeats))
          time.after(random.between(1, 3_000), () => arrivesAgain(arrives, to.listening, at(address)?.listening))
        const deadline = time.after(deadlineMs, () => unreachable(say`no answer within ${deadlineMs} ms`))
      }),
  }
}

/** A copy of a message reaches the program that it was sent to, or nobody. */
function arrivesAgain(arrives: () => void, then: Listening | null, now: Listening | null | undefined): void {
  if (then !== null && then === now) arrives()
}

const lookMs = 250
/** As `http-feed.ts`: a stream that is silent for so long is opened again. */
const silentMs = 1_200

/** The streams of observations that one manager reads. */
export function simulatedFeed(
  from: string,
  life: ProcessLife,
  ports: TransportPorts,
  follower: Follower = 'manager',
): AgentFeed {
  const { time, network, at } = ports
  return {
    follow(address, _whom, listener) {
      let ended = false
      let stream: Stream | null = null
      const open = (): Stream | null => {
        const to = at(address)
        if (!to?.listening || !network.reachesBothWays(from, to.place)) return null
        const blind = to.listening.life.runs ? (to.listening.whyBlind?.() ?? null) : null
        if (blind !== null) {
          listener.blind?.(blind.message)
          return null
        }
        return new Stream(to.listening, { ...ports, from, life, follower }, listener)
      }
      const look = (): void => {
        if (ended || life.isDead) return stream?.close()
        const whyLost = stream === null ? null : whyNoMore(stream, at(address)?.listening, time.nowMs)
        if (whyLost !== null) {
          stream?.close()
          stream = null
          listener.lost(whyLost)
        }
        stream ??= open()
      }
      const again = (): void => {
        life.enter(look)
        if (!ended && !life.isDead) time.after(lookMs, again)
      }
      again()
      return () => {
        ended = true
        stream?.close()
      }
    },
  }
}

/** Why a stream brings nothing any more; null for one that may. */
function whyNoMore(stream: Stream, listening: Listening | null | undefined, nowMs: number): string | null {
  if (nowMs - stream.heardAtMs > silentMs) return 'silent'
  return stream.of === listening && !stream.isEndedByPeer ? null : 'connection closed'
}

/** An agent tells all who listen the same, at the same moment. */
const sentObservations = new WeakMap<Observation, Observation>()

function asSent(observation: Observation): Observation {
  const known = sentObservations.get(observation)
  if (known !== undefined) return known
  const sent = asJson(observation)
  sentObservations.set(observation, sent)
  return sent
}

interface StreamPorts extends Pick<TransportPorts, 'time' | 'network' | 'observed'> {
  readonly from: string
  readonly life: ProcessLife
  readonly follower: Follower
}

/** One connection: what was said first arrives first, and after what is lost nothing arrives. */
class Stream {
  readonly of: Listening
  heardAtMs: number
  readonly #ports: StreamPorts
  readonly #listener: FeedListener
  readonly #unsubscribe: () => void
  #isOpen = true
  isEndedByPeer = false
  #lastArrivalMs = 0

  constructor(of: Listening, ports: StreamPorts, listener: FeedListener) {
    this.of = of
    this.#ports = ports
    this.#listener = listener
    this.heardAtMs = ports.time.nowMs
    this.#unsubscribe = of.agent.subscribe((observation) => this.#send(observation), ports.follower)
    of.connections.add(this.#end)
    of.life.enter(() => this.#send(of.agent.observation()))
  }

  readonly #end = (): void => {
    this.isEndedByPeer = true
    this.close()
  }

  close(): void {
    this.#isOpen = false
    this.of.connections.delete(this.#end)
    this.#unsubscribe()
  }

  #send(observation: Observation | null): void {
    const { time, network, from, life, observed } = this.#ports
    const sent = observation && asSent(observation)
    if (observation !== null) observed(this.of.name, observation)
    this.#lastArrivalMs = Math.max(this.#lastArrivalMs, time.nowMs + network.delayMs())
    time.after(this.#lastArrivalMs - time.nowMs, () => {
      if (!this.#isOpen) return
      if (!network.reaches(this.of.place, from)) return this.close()
      life.enter(() => {
        this.heardAtMs = time.nowMs
        if (sent === null) this.#listener.alive()
        else this.#listener.heard(sent)
      })
    })
  }
}

import { describeError, RegentError } from '#common/errors/errors.ts'
import type { Clock, Timers } from '#common/ports/ports.ts'
import type { Logger } from '#common/log/logger.ts'
import { touchedBy, type Change, type Step } from '#orchestrator/trees/step.ts'
import type { AdoptedHost } from '../adoption.ts'
import type { Leftover, Leftovers } from './leftover.ts'
import { namesIn, Servers } from './servers.ts'

export interface TreeHandParts {
  readonly clock: Clock
  readonly timers: Timers
  readonly log: Logger
  readonly leftovers: Leftovers
}

/** What became of a change whose manager died. */
export interface Finished {
  /** Who leads by that; null where all was put right again instead. */
  readonly leads: string | null
  readonly failed: readonly string[]
}

/** So often somebody is made to lead, where the first attempt leaves open whether that was done. */
const leadAttempts = 3
const betweenAttemptsMs = 1_000

/** Does what plans say at the servers of watched clusters: one plan at a time for each cluster. */
export class TreeHand {
  readonly #parts: TreeHandParts
  readonly #busy = new Map<string, string>()

  constructor(parts: TreeHandParts) {
    this.#parts = parts
  }

  /**
   * Rejects with `REGENT_REFUSED` before anything is done where the login lacks a right; afterwards with what went
   * wrong, once servers that stood for the plan were started again. Once somebody leads each other server goes on for
   * itself: resolves to what failed there.
   */
  async carryOut(cluster: string, hosts: readonly AdoptedHost[], change: Change): Promise<readonly string[]> {
    const [first] = change.steps
    if (first === undefined) return []
    const other = this.#busy.get(cluster)
    if (other !== undefined)
      throw new RegentError('REGENT_REFUSED', `${cluster} is being changed just now (${other}); ask again later`)
    return this.#alone(cluster, `${first.do} at ${first.at}`, hosts, async (servers) => {
      const { steps, undo } = change
      if (undo !== undefined) return this.#change(cluster, servers, { steps, undo })
      await refuseUnready(steps, servers)
      await this.#parts.leftovers.keep(cluster, { steps: startsOf(steps) })
      await this.#each(cluster, steps, servers)
      await this.#parts.leftovers.keep(cluster, null)
      return []
    })
  }

  /** What is left of a change whose manager died. Undefined where nothing is, or the cluster is being changed. */
  async finishOne(cluster: string, hosts: readonly AdoptedHost[]): Promise<Finished | undefined> {
    if (this.#busy.has(cluster)) return undefined
    const leftover = (await this.#parts.leftovers.read()).get(cluster)
    if (leftover === undefined) return undefined
    const at = touchedBy(leftover.steps).join(', ')
    this.#parts.log.warn(`${cluster}: a change has ended in the middle; what is left of that is done at ${at}`)
    return this.#alone(cluster, 'the end of a change', hosts, async (servers) => {
      const finished = await this.#goOn(cluster, servers, leftover)
      const isDone = finished.failed.length === 0
      await this.#parts.leftovers.keep(cluster, isDone ? null : leftover)
      if (!isDone) this.#parts.log.error(`${cluster}: that was not done: ${finished.failed.join('; ')}`)
      return finished
    })
  }

  async #alone<T>(
    cluster: string,
    what: string,
    hosts: readonly AdoptedHost[],
    run: (servers: Servers) => Promise<T>,
  ): Promise<T> {
    this.#busy.set(cluster, what)
    const servers = new Servers(hosts, this.#parts)
    try {
      return await run(servers)
    } finally {
      servers.close()
      this.#busy.delete(cluster)
    }
  }

  /** Until somebody leads all of that can be undone. */
  async #change(cluster: string, servers: Servers, { steps, undo }: Required<Change>): Promise<readonly string[]> {
    const { leftovers } = this.#parts
    const turn = steps.findIndex((step) => step.do === 'lead')
    let isTouched = (await leftovers.read()).has(cluster)
    try {
      await refuseUnready(steps, servers)
      await leftovers.keep(cluster, { steps: undo })
      isTouched = true
      for (const step of turn < 0 ? steps : steps.slice(0, turn)) await servers.do(step)
    } catch (error) {
      if (!isTouched) throw error
      const failed = await this.#eachForItself(undo, servers)
      if (failed.length === 0) await leftovers.keep(cluster, null)
      else this.#parts.log.error(`${cluster}: not undone: ${failed.join('; ')}`)
      throw error
    }
    if (turn < 0) return []
    const rest = steps.slice(turn)
    await leftovers.keep(cluster, { steps: rest })
    const { failed } = await this.#lead(rest, servers)
    await leftovers.keep(cluster, null)
    return failed
  }

  async #goOn(cluster: string, servers: Servers, { steps, purge }: Leftover): Promise<Finished> {
    try {
      if (steps[0]?.do === 'lead') return await this.#lead(steps, servers)
      if (purge !== undefined) {
        await servers.open([purge.at])
        await servers.of(purge.at).setPurgedIfEmpty(purge.keep)
        await this.#each(cluster, steps, servers)
        return { leads: null, failed: [] }
      }
      return { leads: null, failed: await this.#eachForItself(steps, servers) }
    } catch (error) {
      return { leads: null, failed: [describeError(error)] }
    }
  }

  /** One leads; each of the others follows for itself. Rejects where nobody knows whether that one leads. */
  async #lead([lead, ...others]: readonly Step[], servers: Servers): Promise<Finished> {
    if (lead === undefined) return { leads: null, failed: [] }
    for (let attempt = 1; ; attempt += 1) {
      try {
        await servers.do(lead)
        break
      } catch (error) {
        if (attempt === leadAttempts) throw error
        await this.#parts.timers.sleep(betweenAttemptsMs)
      }
    }
    return { leads: lead.at, failed: await this.#eachForItself(others, servers) }
  }

  /** A server where a step fails is left alone from there on. Gives what failed. */
  async #eachForItself(steps: readonly Step[], servers: Servers): Promise<readonly string[]> {
    const failed = new Map<string, string>()
    for (const step of steps) {
      const of = step.do === 'covers' ? step.with : step.at
      if (failed.has(of)) continue
      await servers.do(step).catch((error: unknown) => failed.set(of, describeError(error)))
    }
    return [...failed].map(([name, why]) => `${name}: ${why}`)
  }

  async #each(cluster: string, steps: readonly Step[], servers: Servers): Promise<void> {
    const stopped = new Set<string>()
    let isEmptying = false
    try {
      for (const [at, step] of steps.entries()) {
        if (step.do === 'stop') stopped.add(step.at)
        isEmptying ||= step.do === 'resetGtids'
        if (step.do === 'resetGtids') await this.#keepGtids(cluster, step, { servers, rest: steps.slice(at + 1) })
        await servers.do(step)
        if (step.do === 'start') stopped.delete(step.at)
      }
    } catch (error) {
      // Whether its GTIDs were emptied is not known then: the next manager looks, and goes on.
      if (!isEmptying) await this.#startAgain(cluster, [...stopped], servers)
      throw error
    }
  }

  async #keepGtids(
    cluster: string,
    { at, without }: Extract<Step, { readonly do: 'resetGtids' }>,
    { servers, rest }: { readonly servers: Servers; readonly rest: readonly Step[] },
  ): Promise<void> {
    const keep = await servers.of(at).executedWithout(without)
    await this.#parts.leftovers.keep(cluster, { steps: rest, purge: { at, keep } })
    this.#parts.log.warn(`${cluster}: empties binlogs and GTIDs of ${at}; gtid_purged becomes ${keep}`)
  }

  /** Best effort: who asked hears what went wrong first. */
  async #startAgain(cluster: string, stopped: readonly string[], servers: Servers): Promise<void> {
    const failed = await this.#eachForItself(
      stopped.map((at) => ({ do: 'start', at })),
      servers,
    )
    if (failed.length === 0) await this.#parts.leftovers.keep(cluster, null)
    else this.#parts.log.error(`${cluster}: could not be started again: ${failed.join('; ')}`)
  }
}

async function refuseUnready(steps: readonly Step[], servers: Servers): Promise<void> {
  await servers.open(steps.flatMap(namesIn))
  for (const hand of servers.hands) await hand.refuseUnready(steps)
}

/** Each server that stands for the plan is started at the end, whatever comes. */
function startsOf(steps: readonly Step[]): readonly Step[] {
  return steps.filter((step) => step.do === 'start')
}

import { describeError, RegentError } from '#common/errors/errors.ts'
import type { Clock, Timers } from '#common/ports/ports.ts'
import type { Logger } from '#common/log/logger.ts'
import { touchedBy, type Step } from '#orchestrator/trees/step.ts'
import type { AdoptedHost } from '../adoption.ts'
import type { Leftover, Leftovers } from './leftover.ts'
import { ServerHand, type Doing } from './server-hand.ts'

export interface TreeHandParts {
  readonly clock: Clock
  readonly timers: Timers
  readonly log: Logger
  readonly leftovers: Leftovers
}

/** Does what plans say at the servers of watched clusters: one plan at a time for each cluster. */
export class TreeHand {
  readonly #parts: TreeHandParts
  readonly #busy = new Map<string, string>()

  constructor(parts: TreeHandParts) {
    this.#parts = parts
  }

  /**
   * Rejects with `REGENT_REFUSED` before anything is done where the login lacks a right; afterwards with what went
   * wrong, once servers that stood for the plan were started again.
   */
  async carryOut(cluster: string, hosts: readonly AdoptedHost[], steps: readonly Step[]): Promise<void> {
    if (steps.length === 0) return
    const what = `${steps[0]?.do} at ${steps[0]?.at}`
    const other = this.#busy.get(cluster)
    if (other !== undefined)
      throw new RegentError('REGENT_REFUSED', `${cluster} is being changed just now (${other}); ask again later`)
    this.#busy.set(cluster, what)
    try {
      await this.#run(cluster, hosts, { steps })
    } finally {
      this.#busy.delete(cluster)
    }
  }

  /** What a manager that died left behind: servers that stand since then are started. */
  async finish(clusters: ReadonlyMap<string, readonly AdoptedHost[]>): Promise<void> {
    for (const [cluster, leftover] of await this.#parts.leftovers.read()) {
      const hosts = clusters.get(cluster)
      if (hosts === undefined) continue
      const at = touchedBy(leftover.steps).join(', ')
      this.#parts.log.warn(`${cluster}: a manager ended in the middle of a change; ${at} is started again`)
      await this.#run(cluster, hosts, leftover).catch(async (error: unknown) => {
        this.#parts.log.error(`${cluster}: ${at} could not be started again: ${describeError(error)}`)
        await this.#parts.leftovers.keep(cluster, leftover)
      })
    }
  }

  async #run(cluster: string, hosts: readonly AdoptedHost[], { steps, purge }: Leftover): Promise<void> {
    const { leftovers } = this.#parts
    const servers = await this.#open(hosts, steps, purge)
    const of = (name: string): ServerHand => servers.get(name) ?? neverMissing(name)
    try {
      for (const server of servers.values()) await server.refuseWithoutRights(steps)
      if (purge !== undefined) await of(purge.at).setPurgedIfEmpty(purge.keep)
      await leftovers.keep(cluster, { steps: purge === undefined ? startsOf(steps) : steps, ...(purge && { purge }) })
      await this.#each(cluster, steps, of)
      await leftovers.keep(cluster, null)
    } finally {
      for (const server of servers.values()) server.close()
    }
  }

  async #each(cluster: string, steps: readonly Step[], of: Doing['of']): Promise<void> {
    const stopped = new Set<string>()
    let isEmptying = false
    try {
      for (const [at, step] of steps.entries()) {
        if (step.do === 'stop') stopped.add(step.at)
        isEmptying ||= step.do === 'resetGtids'
        await this.#do(step, { of, cluster, rest: steps.slice(at + 1) })
        if (step.do === 'start') stopped.delete(step.at)
      }
    } catch (error) {
      // Whether its GTIDs were emptied is not known then: the next manager looks, and goes on.
      if (!isEmptying && (await this.#startAgain(cluster, [...stopped], of)))
        await this.#parts.leftovers.keep(cluster, null)
      throw error
    }
  }

  async #do(
    step: Step,
    { of, cluster, rest }: { readonly of: Doing['of']; readonly cluster: string; readonly rest: readonly Step[] },
  ): Promise<void> {
    const hand = of(step.at)
    if (step.do === 'resetGtids') {
      const keep = await hand.executedWithout(step.without)
      await this.#parts.leftovers.keep(cluster, { steps: rest, purge: { at: step.at, keep } })
      this.#parts.log.warn(`${cluster}: empties binlogs and GTIDs of ${step.at}; gtid_purged becomes ${keep}`)
    }
    await hand.do(step, { of })
  }

  /** Best effort: who asked hears what went wrong first. Gives whether all of them run again. */
  async #startAgain(cluster: string, stopped: readonly string[], of: Doing['of']): Promise<boolean> {
    let areAll = true
    for (const at of stopped)
      await of(at)
        .do({ do: 'start', at }, { of })
        .catch((error: unknown) => {
          areAll = false
          this.#parts.log.error(`${cluster}: ${at} could not be started again: ${describeError(error)}`)
        })
    return areAll
  }

  async #open(
    hosts: readonly AdoptedHost[],
    steps: readonly Step[],
    purge: Leftover['purge'],
  ): Promise<ReadonlyMap<string, ServerHand>> {
    const names = new Set([...steps.flatMap(readBy), ...(purge ? [purge.at] : [])])
    const opened = new Map<string, ServerHand>()
    try {
      for (const host of hosts.filter(({ instance }) => names.has(instance)))
        opened.set(host.instance, await ServerHand.open(host, hosts, this.#parts))
      return opened
    } catch (error) {
      for (const server of opened.values()) server.close()
      throw error
    }
  }
}

/** Servers that a step touches, or asks for a place. */
function readBy(step: Step): readonly string[] {
  switch (step.do) {
    case 'catchUp':
    case 'level':
      return [step.at, step.with]
    case 'advance':
      return [step.at, ...namesIn(step.to)]
    case 'follow':
      return [
        step.at,
        ...('sourceOf' in step.source ? [step.source.sourceOf] : []),
        ...(step.from === 'gtids' ? [] : namesIn(step.from)),
      ]
    default:
      return [step.at]
  }
}

function namesIn(place: { readonly endOf: string } | { readonly appliedBy: string }): readonly string[] {
  return ['endOf' in place ? place.endOf : place.appliedBy]
}

/** Each server that stands for the plan is started at the end, whatever comes. */
function startsOf(steps: readonly Step[]): readonly Step[] {
  return steps.filter((step) => step.do === 'start')
}

function neverMissing(name: string): never {
  throw new RegentError('REGENT_NOT_FOUND', `${name} is none of the servers that are watched`)
}

import { describeError, RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import type { Clock, Timers } from '#common/ports/ports.ts'
import type { Logger } from '#common/log/logger.ts'
import { touchedBy, type Change, type Step } from '#orchestrator/trees/step.ts'
import type { AdoptedHost } from '../adoption.ts'
import { addressText } from '../host-address.ts'
import type { Leftover, Leftovers } from './leftover.ts'
import { namesIn, Servers, type OpenHand } from './servers.ts'

export interface TreeHandParts {
  readonly clock: Clock
  readonly timers: Timers
  readonly log: Logger
  readonly leftovers: Leftovers
  readonly open?: OpenHand
}

/** What became of a change whose manager died. */
export interface Finished {
  /** The server that leads after the change; null where all was put right again instead. */
  readonly leads: string | null
  readonly failed: readonly string[]
  /** Nobody could say yet what is to be done: all of it is tried again. */
  readonly isPending?: true
}

/** How the end of a change went. */
interface Ended extends Finished {
  /** What is still to be done; null for nothing. */
  readonly left: Leftover | null
}

/** So often somebody is made to lead, where the first attempt leaves open whether that was done. */
const leadAttempts = 3
const betweenAttemptsMs = 1_000

/** Does what plans say at the servers of watched clusters: one plan at a time for each cluster. */
export class TreeHand {
  readonly #parts: TreeHandParts
  /** By cluster: what is changed there, and the addresses of the servers by their names of then. */
  readonly #busy = new Map<string, { readonly what: string; readonly servers: Readonly<Record<string, string>> }>()

  constructor(parts: TreeHandParts) {
    this.#parts = parts
  }

  /**
   * Rejects with `REGENT_REFUSED` before anything is done where the login lacks a right; afterwards with what went
   * wrong, once servers that stood for the plan were started again. Once somebody leads each other server goes on for
   * itself: resolves to what failed there. So does a change that has nothing but an undo.
   */
  async carryOut(cluster: string, hosts: readonly AdoptedHost[], change: Change): Promise<readonly string[]> {
    const [first] = [...change.steps, ...(change.undo ?? [])]
    if (first === undefined) return []
    const other = this.#busy.get(cluster)
    if (other !== undefined)
      throw new RegentError(
        'REGENT_REFUSED',
        say`${cluster} is being changed just now (${other.what}); ask again later`,
      )
    return this.#alone(cluster, `${first.do} at ${first.at}`, hosts, async (servers) => {
      const { steps, undo } = change
      if (undo !== undefined && steps.length === 0) return this.#putRight(cluster, undo, servers)
      if (undo !== undefined) return this.#change(cluster, servers, { steps, undo })
      await refuseUnready(steps, servers)
      await this.#keep(cluster, { steps: startsOf(steps) })
      await this.#each(cluster, steps, servers)
      await this.#keep(cluster, null)
      return []
    })
  }

  /** What is left of a change whose manager died. Undefined where nothing is, or the cluster is being changed. */
  async finishOne(cluster: string, hosts: readonly AdoptedHost[]): Promise<Finished | undefined> {
    if (this.#busy.has(cluster)) return undefined
    const leftover = await this.#parts.leftovers.read(cluster)
    // Somebody else may have begun during the read: the same would be done twice, or beside another change.
    if (leftover === null || this.#busy.has(cluster)) return undefined
    const at = touchedBy(leftover.steps).join(', ')
    this.#parts.log.warn(`${cluster}: a change has ended in the middle; what is left of that is done at ${at}`)
    const other = otherThan(leftover.servers ?? {}, hosts)
    if (other !== undefined) {
      const why = `${other} is another server by now, or none; nothing is done at ${at}`
      this.#parts.log.error(`${cluster}: ${why}: look there`)
      await this.#keep(cluster, null)
      return { leads: null, failed: [why] }
    }
    return this.#alone(cluster, 'the end of a change', hosts, async (servers) => {
      const { left, ...finished } = await this.#goOn(cluster, servers, leftover)
      await this.#keep(cluster, left)
      const { failed } = finished
      if (failed.length > 0) this.#parts.log.error(`${cluster}: that was not done: ${failed.join('; ')}`)
      return finished
    })
  }

  async #alone<T>(
    cluster: string,
    what: string,
    hosts: readonly AdoptedHost[],
    run: (servers: Servers) => Promise<T>,
  ): Promise<T> {
    this.#busy.set(cluster, { what, servers: addressesOf(hosts) })
    const servers = new Servers(hosts, this.#parts, this.#parts.open)
    try {
      return await run(servers)
    } finally {
      servers.close()
      this.#busy.delete(cluster)
    }
  }

  async #keep(cluster: string, leftover: Leftover | null): Promise<void> {
    const { servers = {} } = this.#busy.get(cluster) ?? {}
    await this.#parts.leftovers.keep(cluster, leftover && { ...leftover, servers })
  }

  /** Until somebody leads all of that can be undone. */
  async #change(
    cluster: string,
    servers: Servers,
    { steps, undo }: Required<Pick<Change, 'steps' | 'undo'>>,
  ): Promise<readonly string[]> {
    const { leftovers } = this.#parts
    const turn = steps.findIndex((step) => step.do === 'lead')
    let isTouched = (await leftovers.read(cluster)) !== null
    try {
      await refuseUnready(steps, servers)
      await this.#keep(cluster, { steps: undo })
      isTouched = true
      for (const step of turn < 0 ? steps : steps.slice(0, turn)) await servers.do(step)
    } catch (error) {
      if (isTouched) await this.#putRight(cluster, undo, servers)
      throw error
    }
    if (turn < 0) return []
    const rest = steps.slice(turn)
    const gone = steps.filter((step) => step.do === 'absent').map(({ at }) => at)
    await this.#keep(cluster, { steps: rest, undo, gone })
    const { failed } = await this.#lead(rest, servers)
    await this.#keep(cluster, null)
    return failed
  }

  /** What cannot be done now the next manager does, or whoever changes the cluster next. */
  async #putRight(cluster: string, undo: readonly Step[], servers: Servers): Promise<readonly string[]> {
    const { failed, left } = await this.#eachForItself(undo, servers)
    await this.#keep(cluster, left)
    if (failed.length > 0) this.#parts.log.error(`${cluster}: not undone: ${failed.join('; ')}`)
    return failed
  }

  /** What was decided then may be wrong by now: nobody is opened beside another one that takes writes. */
  async #goOn(cluster: string, servers: Servers, leftover: Leftover): Promise<Ended> {
    const { steps, undo, purge, gone = [] } = leftover
    try {
      if (purge !== undefined) {
        await servers.open([purge.at])
        await servers.of(purge.at).setPurgedIfEmpty(purge.keep)
        await this.#each(cluster, steps, servers)
        return { leads: null, failed: [], left: null }
      }
      const late = await whyLate(steps, servers, gone)
      if (late === null && steps[0]?.do === 'lead') return await this.#lead(steps, servers)
      if (late === null || undo === undefined) return await this.#unlessLate(steps, servers, late)
      const undone = await this.#unlessLate(undo, servers, await whyLate(undo, servers))
      return { ...undone, failed: [late.why, ...undone.failed] }
    } catch (error) {
      return { leads: null, failed: [describeError(error)], left: leftover, isPending: true }
    }
  }

  /** Servers that were to be opened are left as they are, where it is too late for that. */
  async #unlessLate(steps: readonly Step[], servers: Servers, late: Late | null): Promise<Ended> {
    if (late === null) return this.#eachForItself(steps, servers)
    const others = steps.filter((step) => !touches(step, late.opens))
    const ended = await this.#eachForItself(others, servers)
    return { ...ended, failed: [late.why, ...ended.failed] }
  }

  /**
   * The first server leads; each of the others follows for itself. Rejects where nobody knows whether the first leads.
   */
  async #lead([lead, ...others]: readonly Step[], servers: Servers): Promise<Ended> {
    if (lead === undefined) return { leads: null, failed: [], left: null }
    for (let attempt = 1; ; attempt += 1) {
      try {
        await servers.do(lead)
        break
      } catch (error) {
        if (attempt === leadAttempts) throw error
        await this.#parts.timers.sleep(betweenAttemptsMs)
      }
    }
    return { ...(await this.#eachForItself(others, servers)), leads: lead.at }
  }

  /** A server where a step fails is left alone from there on. What is left is all that is said of such servers. */
  async #eachForItself(steps: readonly Step[], servers: Servers): Promise<Ended> {
    const failed = new Map<string, string>()
    for (const step of steps) {
      const of = whose(step)
      if (failed.has(of)) continue
      await servers.do(step).catch((error: unknown) => failed.set(of, describeError(error)))
    }
    const left = steps.filter((step) => failed.has(whose(step)))
    return {
      leads: null,
      failed: [...failed].map(([name, why]) => `${name}: ${why}`),
      left: left.length === 0 ? null : { steps: left },
    }
  }

  async #each(cluster: string, steps: readonly Step[], servers: Servers): Promise<void> {
    const standing = new Map<string, Step>()
    let isEmptying = false
    try {
      for (const [at, step] of steps.entries()) {
        if (step.do === 'stop') standing.set(step.at, { do: 'start', at: step.at })
        if (step.do === 'stopReceiving') standing.set(step.at, { do: 'startReceiving', at: step.at })
        isEmptying ||= step.do === 'resetGtids'
        if (step.do === 'resetGtids') await this.#keepGtids(cluster, step, { servers, rest: steps.slice(at + 1) })
        await servers.do(step)
        if (step.do === 'start') standing.delete(step.at)
      }
    } catch (error) {
      // Whether its GTIDs were emptied is not known then: the next manager looks, and goes on.
      if (!isEmptying) await this.#startAgain(cluster, [...standing.values()], servers)
      throw error
    }
  }

  async #keepGtids(
    cluster: string,
    { at, without }: Extract<Step, { readonly do: 'resetGtids' }>,
    { servers, rest }: { readonly servers: Servers; readonly rest: readonly Step[] },
  ): Promise<void> {
    const keep = await servers.of(at).executedWithout(without)
    await this.#keep(cluster, { steps: rest, purge: { at, keep } })
    this.#parts.log.warn(`${cluster}: empties binlogs and GTIDs of ${at}; gtid_purged becomes ${keep}`)
  }

  /** Best effort: who asked hears what went wrong first. */
  async #startAgain(cluster: string, starts: readonly Step[], servers: Servers): Promise<void> {
    const { failed, left } = await this.#eachForItself(starts, servers)
    await this.#keep(cluster, left)
    if (failed.length > 0) this.#parts.log.error(`${cluster}: could not be started again: ${failed.join('; ')}`)
  }
}

export function addressesOf(hosts: readonly AdoptedHost[]): Readonly<Record<string, string>> {
  return Object.fromEntries(hosts.map((host) => [host.instance, addressText(host)]))
}

/** A name that meant another server then: whoever adopts anew may name servers otherwise. */
export function otherThan(then: Readonly<Record<string, string>>, hosts: readonly AdoptedHost[]): string | undefined {
  const now = addressesOf(hosts)
  return Object.keys(then).find((name) => now[name] !== then[name])
}

/** Steps that come too late: by now another server takes writes than those that they open, or may do so. */
interface Late {
  readonly opens: ReadonlySet<string>
  readonly why: string
}

/** @param gone servers that live again, though nobody can ask them, may take writes as well */
async function whyLate(steps: readonly Step[], servers: Servers, gone: readonly string[] = []): Promise<Late | null> {
  const opened = steps.filter((step) => step.do === 'lead' || (step.do === 'readOnly' && !step.on))
  if (opened.length === 0) return null
  const writers = await servers.writers()
  const opens = new Set(opened.map(({ at }) => at).filter((name) => !writers.has(name)))
  const others = [...writers].filter((name) => !opened.some(({ at }) => at === name))
  if (opens.size === 0) return null
  const doubt = await servers.whyNotGone(gone)
  if (others.length === 0 && doubt === undefined) return null
  const why = others.length === 0 ? doubt : `${others.join(', ')} takes writes by now`
  return { opens, why: `${[...opens].join(', ')} is not opened any more: ${why}` }
}

/** The step is done at such a server, or has one for its source. */
function touches(step: Step, names: ReadonlySet<string>): boolean {
  return names.has(whose(step)) || namesIn(step).some((name) => names.has(name)) || sourceIn(step, names)
}

function sourceIn(step: Step, names: ReadonlySet<string>): boolean {
  return step.do === 'follow' && 'instance' in step.source && names.has(step.source.instance)
}

function whose(step: Step): string {
  return step.do === 'covers' ? step.with : step.at
}

async function refuseUnready(steps: readonly Step[], servers: Servers): Promise<void> {
  await servers.open(steps.flatMap(namesIn))
  for (const hand of servers.hands) await hand.refuseUnready(steps)
}

/** Each server that stands for the plan is started at the end, whatever comes. */
function startsOf(steps: readonly Step[]): readonly Step[] {
  return steps.filter((step) => step.do === 'start')
}

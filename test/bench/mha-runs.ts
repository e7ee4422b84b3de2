import { setTimeout as sleep } from 'node:timers/promises'
import { describeError } from '#common/errors/errors.ts'
import { mhaSteps } from '#test/support/mha/log.ts'
import { mhaPackages } from '#test/support/mha/packages.ts'
import { MhaServers, type MhaOptions } from '#test/support/mha/servers.ts'
import { unpackedSshd } from '#test/support/sshd.ts'
import { mysql56 } from '#test/support/strange-servers.ts'
import { stopWriters, Writer } from '#test/support/writer.ts'
import type { FarOptions } from './far.ts'
import { joined, type CaseResult } from './report.ts'

/** MHA's own default, and the shortest that it takes. */
const pings = [3, 1] as const
const restMs = 1_000
const otherServers = 'other servers than Regent’s: MySQL 5.6 with GTIDs, no semi-sync (MHA runs on no MySQL ≥ 8.4)'

type Of = Pick<FarOptions, 'event' | 'told'>

/** MHA's failovers. Its manager ends with each: each has servers of its own. */
export class MhaRuns {
  readonly #options: Omit<MhaOptions, 'pingSeconds'>
  readonly #of: Of
  readonly #measured = new Map<number, CaseResult[]>(pings.map((ping) => [ping, []]))
  readonly #failures = new Map<number, string[]>(pings.map((ping) => [ping, []]))

  private constructor(options: Omit<MhaOptions, 'pingSeconds'>, of: Of) {
    this.#options = options
    this.#of = of
  }

  /** A sentence where MHA, or a server that it runs on, cannot be had. */
  static async prepare(of: Of): Promise<MhaRuns | string> {
    const packages = await mhaPackages()
    if (typeof packages === 'string') return packages
    const program = await mysql56()
    if (typeof program === 'string') return `MHA is left out. ${program}`
    const sshRoot = await unpackedSshd()
    if (sshRoot === undefined) return 'MHA is left out: no sshd can be had here'
    return new MhaRuns({ packages, program, sshRoot }, of)
  }

  /** One failover for each ping interval. One that fails is told, counted, and no reason to stop. */
  async round(run: number, runs: number): Promise<void> {
    const { event, told } = this.#of
    for (const ping of pings) {
      const title = `${event} ${run}/${runs}, MHA, ping ${ping} s`
      try {
        const result = await this.#failedOver(ping, phaseMs(ping, run, runs))
        this.#measured.get(ping)?.push(result)
        const outageMs = result.samples.get('outage seen by the client')?.[0] ?? NaN
        told(`${title}: ${Math.round(outageMs)} ms, lost ${result.lost}`)
      } catch (error) {
        this.#failures.get(ping)?.push(describeError(error))
        told(`${title}: ${describeError(error)}`)
      }
    }
  }

  get results(): readonly CaseResult[] {
    return pings.map((ping) => {
      const failures = this.#failures.get(ping) ?? []
      return {
        ...joined(this.#measured.get(ping) ?? []),
        name: `${this.#of.event}, MHA ${this.#options.packages.version}, ping ${ping} s, MySQL 5.6`,
        note: [otherServers, ...failures.map((why) => `a failover that failed: ${why}`)].join('; '),
      }
    })
  }

  async #failedOver(pingSeconds: number, waitMs: number): Promise<CaseResult> {
    const servers = await MhaServers.start({ ...this.#options, pingSeconds })
    try {
      const writer = await Writer.start(servers)
      await sleep(waitMs)
      const atMs = await servers.loseMaster(this.#of.event)
      const [outageMs, steps] = await Promise.all([writer.outageSince(atMs), servers.failover()])
      const letInMs = writer.letInSince(atMs, await servers.primary())
      const { lost, acknowledged } = await writer.check(...(await servers.replicas()))
      const samples = new Map([
        ['outage seen by the client', [outageMs]],
        ...mhaSteps.map((step) => [`· ${step}`, sinceOf(steps.get(step), atMs)] as const),
        ['· client let in', sinceOf(letInMs, atMs)],
        ['writes lost, by run', [lost.length]],
      ])
      return { name: '', unit: 'ms', samples, lost: lost.length, acknowledged }
    } finally {
      await stopWriters()
      await servers.end()
    }
  }
}

function sinceOf(atMs: number | undefined, faultMs: number): readonly number[] {
  return atMs === undefined ? [] : [atMs - faultMs]
}

/** Faults meet the manager at all moments between two of its pings, evenly over the runs. */
export function phaseMs(pingSeconds: number, run: number, runs: number): number {
  return restMs + ((run - 0.5) / runs) * pingSeconds * 1_000
}

import { Leader } from '#manager/clusters/leader.ts'
import { ClusterLoop } from '#manager/loop/cluster-loop.ts'
import { Operations } from '#manager/clusters/operations/operations.ts'
import type { HookPort } from '#manager/loop/hooks/hook-port.ts'
import type { EndedRecovery } from '#manager/loop/books/recovery-book.ts'
import type { Platform } from '#common/ports/platform.ts'
import type { ClusterRecord } from '#failover/protocol/record.ts'
import type { ClusterSpec } from '#failover/protocol/spec.ts'
import type { Timings } from '#failover/protocol/timings.ts'
import type { ProcessLife } from './process-life.ts'
import { simulatedStore, type StorePorts } from './simulated-store.ts'
import { simulatedFeed, simulatedTransport, type TransportPorts } from './transport.ts'

export interface ManagerPorts extends TransportPorts, StorePorts {
  readonly cluster: string
  readonly spec: ClusterSpec
  readonly timings: Timings
  readonly platform: Platform
  readonly hooks: HookPort
  readonly said: (manager: string, sentence: string) => void
  readonly commits: (next: ClusterRecord, why: string) => void
}

/** One run of a manager: the shipped loop and the shipped claim to lead, on ports that simulate. */
export class SimulatedManager {
  readonly name: string
  readonly life: ProcessLife
  readonly loop: ClusterLoop
  /** What people ask this manager for, as the API hands it over. */
  readonly operations: Operations
  readonly #leader: Leader
  readonly #waiting = new Set<(recovery: EndedRecovery | undefined) => void>()

  /** @param place where it runs, as the network knows it */
  constructor(place: string, life: ProcessLife, ports: ManagerPorts) {
    const { said } = ports
    const { world } = life
    this.name = `${place}-${world.random.hex(6)}`
    this.life = life
    const store = simulatedStore(place, life, ports)
    const platform = life.port(ports.platform)
    const transport = life.port(simulatedTransport(place, ports))
    this.loop = new ClusterLoop(
      {
        world,
        transport,
        feed: simulatedFeed(place, life, ports),
        store,
        platform,
        hooks: life.port(ports.hooks),
      },
      { cluster: ports.cluster, spec: ports.spec, timings: ports.timings, manager: this.name },
      {
        decided: ({ sentence }, changed) => changed && said(this.name, sentence),
        acted: (action) => {
          if (action.kind === 'commit') ports.commits(action.next, String(action.why))
          said(
            this.name,
            action.kind === 'commit'
              ? `commits: ${String(action.why)}`
              : `sends ${action.kind}${'to' in action ? ` to ${action.to}` : ''}`,
          )
        },
        answered: ({ action, error }) => said(this.name, `${action.kind} ${action.to}: ${error || 'done'}`),
        recovered: (recovery) => {
          said(this.name, `recovery ended: ${recovery.kind} ${recovery.outcome}`)
          for (const waiting of this.#waiting) waiting(recovery)
        },
        hookEnded: ({ hook, moment, state }) => said(this.name, `hook ${hook} of ${moment} ${state}`),
        failed: (what, error) => said(this.name, `failed: ${what}: ${String(error)}`),
        ledNoMore: () => {
          for (const waiting of this.#waiting) waiting(undefined)
        },
      },
    )
    this.operations = new Operations({
      loop: this.loop,
      world,
      platform,
      transport,
      hooks: ports.hooks,
      ended: (matches, timeoutMs) => this.#recoveryThat(matches, timeoutMs),
      isPausedByResource: () => false,
      declined: (sentence) => said(this.name, sentence),
    })
    this.#leader = new Leader({
      store,
      world,
      manager: this.name,
      leadershipMs: ports.timings.leadershipMs,
      changed: (leads) => this.loop.lead(leads),
      failed: (error) => said(this.name, `cannot lead: ${String(error)}`),
      storeSaid: (trouble) => this.loop.storeSaid(trouble),
    })
  }

  start(): void {
    this.life.enter(() => {
      void this.loop.start()
      this.#leader.start()
    })
  }

  #recoveryThat(matches: (recovery: EndedRecovery) => boolean, timeoutMs: number): Promise<EndedRecovery | undefined> {
    return new Promise((resolve) => {
      const end = (recovery: EndedRecovery | undefined): void => {
        this.#waiting.delete(look)
        timer.cancel()
        resolve(recovery)
      }
      const look = (recovery: EndedRecovery | undefined): void =>
        void ((recovery === undefined || matches(recovery)) && end(recovery))
      const timer = this.life.world.timers.after(timeoutMs, () => end(undefined))
      this.#waiting.add(look)
    })
  }
}

import { describeError } from '#common/errors/errors.ts'
import { isWritable } from '#failover/judge/situation.ts'
import { inWords, wayOut, type Command } from '#failover/way-out/way-out.ts'
import type { Operations } from '#manager/clusters/operations/operations.ts'
import type { SimulatedCluster } from '../simulated-cluster.ts'
import type { SimulatedManager } from '../simulated-manager.ts'

/** What Regent mends by itself is mended within this, or it is said who must act. */
const patienceMs = 10_000
const lookMs = 500
const dryRun = true

/**
 * A cluster that takes no writes for long is told by one command how that ends, or for what is waited: a dry run of
 * exactly that command is accepted.
 */
export class WaysOut {
  readonly #cluster: SimulatedCluster
  #writableMs = 0
  #lookedMs = 0
  /** The first command that was refused. */
  broken: string | undefined

  constructor(cluster: SimulatedCluster) {
    this.#cluster = cluster
  }

  look(): void {
    const { time, managers } = this.#cluster
    const leading = managers.find((one) => one?.loop.leads === true && one.life.runs && one.loop.decision !== null)
    if (leading == null || time.nowMs - this.#lookedMs < lookMs) return
    this.#lookedMs = time.nowMs
    if (isWritable(leading.loop.input())) this.#writableMs = time.nowMs
    else if (time.nowMs - this.#writableMs > patienceMs) this.#ask(leading)
  }

  #ask({ loop, life, operations }: SimulatedManager): void {
    const found = wayOut(loop.input())
    const command = found?.command
    if (found == null || command == null) return
    life.enter(() => {
      dryRunOf(operations, command).catch((error: unknown) => {
        this.broken ??= `way out: "${inWords(command)}" is refused: ${describeError(error)}; it was named: ${String(found.sentence)}`
      })
    })
  }
}

function dryRunOf(operations: Operations, command: Command): Promise<unknown> {
  switch (command.verb) {
    case 'failover':
      return operations.perform('failover', { to: command.to ?? undefined, acceptLoss: command.acceptLoss, dryRun })
    case 'switchover':
      return operations.perform('switchover', { to: undefined, timeoutMs: undefined, reason: 'asked for', dryRun })
    case 'unfence':
      return operations.perform('unfence', { instance: command.instance, dryRun })
    case 'resume':
      return operations.perform('resume', { dryRun })
  }
}

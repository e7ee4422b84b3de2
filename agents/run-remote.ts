import { describeError } from '#common/errors/errors.ts'
import { createLogger } from '#common/log/logger.ts'
import type { World } from '#common/ports/ports.ts'
import { realWorld } from '#common/ports/real-world.ts'
import { aborted, toldToStop } from '#common/process/signals.ts'
import type { AgentConfig } from './instance/config.ts'
import { UnendedLife } from './instance/one-life.ts'
import { runAgent } from './run.ts'

/** An agent that still waits for its host has nothing to end. */
const graceMs = 2_000
/** Between the end of an agent and the next one. */
const restMs = 1_000
/** What keeps an agent from its work again and again is said once. */
const longMs = 10_000

interface Given {
  readonly run?: typeof runAgent
  readonly stop?: AbortSignal
  readonly world?: Pick<World, 'clock' | 'timers'>
}

/**
 * Runs all agents of servers that are on other hosts, in one process, until SIGTERM or SIGINT. An agent whose host is
 * not reached, or whose password is not there, has nothing to say until then. An agent that cannot go on begins anew.
 * Neither keeps another from its work. Rejects with an `UnendedLife` where one of them does not end: then all begin
 * anew.
 */
export async function runRemoteAgents(
  configs: readonly AgentConfig[],
  { run = runAgent, stop = toldToStop(), world = realWorld }: Given = {},
): Promise<void> {
  const all = Promise.all(configs.map((config) => keepRunning(config, { run, stop, world })))
  await Promise.race([all, aborted(stop).then(() => world.timers.sleep(graceMs))])
}

async function keepRunning(config: AgentConfig, { run, stop, world }: Required<Given>): Promise<void> {
  const log = createLogger({ level: config.logLevel, name: `agent ${config.instance}` })
  let said = ''
  while (!stop.aborted) {
    const beganMs = world.clock.monotonicMs()
    try {
      await run(config, { stop })
    } catch (error) {
      if (error instanceof UnendedLife) throw error
      const why = describeError(error)
      if (why !== said || world.clock.monotonicMs() - beganMs > longMs) log.error(`this agent begins anew: ${why}`)
      said = why
      await world.timers.sleep(restMs)
    }
  }
}

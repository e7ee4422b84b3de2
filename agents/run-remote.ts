import { aborted, toldToStop } from '#common/process/signals.ts'
import { realWorld } from '#common/ports/real-world.ts'
import type { AgentConfig } from './instance/config.ts'
import { runAgent } from './run.ts'

/** One that still waits for its host has nothing to end. */
const graceMs = 2_000

/**
 * Runs all agents of servers that are on other hosts, in one process, until SIGTERM or SIGINT. One whose host is not
 * reached, or whose password is not there, has nothing to say until then, and keeps no other from its work. Rejects
 * where one of them cannot go on: then all begin anew.
 */
export async function runRemoteAgents(configs: readonly AgentConfig[]): Promise<void> {
  const all = Promise.all(configs.map((config) => runAgent(config)))
  await Promise.race([all, aborted(toldToStop()).then(() => realWorld.timers.sleep(graceMs))])
}

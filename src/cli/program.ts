import type { Command } from 'commander'
import { addAdopt } from './adopt/adopt-command.ts'
import { addManaged } from './adopt/managed-command.ts'
import { addBackup } from './backup/backup-command.ts'
import { bareProgram } from './bare-program.ts'
import { addAgent } from './commands/programs/agent.ts'
import { addCompletion } from './completion.ts'
import { addDowntime } from './commands/operations/downtime.ts'
import { addExplain } from './commands/views/explain.ts'
import { addFailover } from './commands/operations/failover.ts'
import { addFence } from './commands/operations/fence.ts'
import type { Io } from './terminal/io.ts'
import { addHooks } from './commands/views/hooks.ts'
import { addLocal } from './local/local-command.ts'
import { addRestore } from './local/restore-command.ts'
import { addLifecycleAgent } from './commands/programs/lifecycle-agent.ts'
import { addManager } from './commands/programs/manager.ts'
import { addPause } from './commands/operations/pause.ts'
import { addRecoveries } from './commands/views/recoveries.ts'
import { addRemoteAgents } from './commands/programs/remote-agents.ts'
import { addReplace } from './commands/operations/replace.ts'
import { addReseed } from './commands/operations/reseed.ts'
import { addRestart } from './commands/operations/restart.ts'
import { addRouter } from './commands/programs/router.ts'
import { addSwitchover } from './commands/operations/switchover.ts'
import { addTopology } from './commands/views/topology.ts'

/**
 * The whole command line. Building it loads definitions only: what a command needs to do its work it imports when it
 * runs, so that `regent --help` and completion answer at once. With `jsonErrors` wrong usage is thrown without being
 * printed.
 */
export function buildProgram(io: Io, jsonErrors = false): Command {
  const program = bareProgram(io, jsonErrors)
  for (const add of [
    addLocal,
    addAdopt,
    addTopology,
    addExplain,
    addRecoveries,
    addSwitchover,
    addFailover,
    addFence,
    addReplace,
    addReseed,
    addRestart,
    addHooks,
    addBackup,
    addRestore,
    addPause,
    addDowntime,
    addManager,
    addManaged,
    addAgent,
    addRemoteAgents,
    addRouter,
    addLifecycleAgent,
    addCompletion,
  ])
    add(program, io)
  return program
}

/**
 * As `buildProgram`, with the flags that are made from a schema too: loading that takes longer than all the rest, so
 * that only those who show or use them do.
 */
export async function buildWholeProgram(io: Io, jsonErrors = false): Promise<Command> {
  const program = buildProgram(io, jsonErrors)
  const { addKubernetesFlags } = await import('./commands/programs/manager-flags.ts')
  const manager = program.commands.find((command) => command.name() === 'manager')
  if (manager) addKubernetesFlags(manager)
  return program
}

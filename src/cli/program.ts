import { Command } from 'commander'
import { regentVersion } from '../common/version.ts'
import { addAgent } from './commands/agent.ts'
import { addCompletion } from './commands/completion.ts'
import { exitCodeMeanings } from './terminal/exit-codes.ts'
import { addDowntime } from './commands/downtime.ts'
import { addExplain } from './commands/explain.ts'
import { addFailover } from './commands/failover.ts'
import { addFence } from './commands/fence.ts'
import { commandName, type Io } from './terminal/io.ts'
import { addLocal } from './local/local-command.ts'
import { addManager } from './commands/manager.ts'
import { addPause } from './commands/pause.ts'
import { printable } from './terminal/printable.ts'
import { addRecoveries } from './commands/recoveries.ts'
import { addReplace } from './commands/replace.ts'
import { addSwitchover } from './commands/switchover.ts'
import { addTopology } from './commands/topology.ts'

/**
 * The whole command line. Building it loads definitions only: what a command needs to do its work it imports when it
 * runs, so that `regent --help` and completion answer at once. With `jsonErrors` wrong usage is thrown without being
 * printed.
 */
export function buildProgram(io: Io, jsonErrors = false): Command {
  const program = new Command(commandName(io))
  program
    .description(
      'Keeps MySQL clusters highly available: sub-second failover, no acknowledged write lost, a reason for everything.',
    )
    .configureOutput({
      writeOut: (text) => io.out(text.replace(/\n$/, '')),
      writeErr: (text) => io.note(text.replace(/\n$/, '')),
      outputError: (text, write) => (jsonErrors ? undefined : write(printable(text))),
    })
    .version(`regent ${regentVersion}`, '-V, --version', 'print the version')
    .configureHelp({ showGlobalOptions: true })
    .showSuggestionAfterError()
    .exitOverride()
    .addHelpText('after', helpEnd)
  for (const add of [
    addLocal,
    addTopology,
    addExplain,
    addRecoveries,
    addSwitchover,
    addFailover,
    addFence,
    addReplace,
    addPause,
    addDowntime,
    addManager,
    addAgent,
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
  const { addKubernetesFlags } = await import('./commands/manager-flags.ts')
  const manager = program.commands.find((command) => command.name() === 'manager')
  if (manager) addKubernetesFlags(manager)
  return program
}

const helpEnd = `
A cluster is left out where there is only one. Instances are named <cluster>-<ordinal>.

Commands ask the manager of a local cluster, or the one that --api or REGENT_API names. They ask one on Kubernetes, through a
port-forward of their own, when run as kubectl regent, with -n, --context, --kubeconfig or --manager-namespace, and for a
cluster that is named <namespace>/<name>.

Environment:
  REGENT_API         base URL of the manager to ask; otherwise the local cluster's
  REGENT_TOKEN_FILE  file with the API's token; otherwise the local cluster's
  REGENT_HOME        folder of the local clusters (default: $XDG_STATE_HOME/regent, else ~/.local/state/regent)
  REGENT_MYSQLD      path of the mysqld that local clusters run
  NO_COLOR           switches colours off

Exit codes:
${Object.entries(exitCodeMeanings)
  .map(([code, meaning]) => `  ${code}  ${meaning}`)
  .join('\n')}`

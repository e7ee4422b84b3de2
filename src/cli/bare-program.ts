import { Command } from 'commander'
import { regentVersion } from '#common/version.ts'
import { exitCodeMeanings } from './terminal/exit-codes.ts'
import { commandName, type Io } from './terminal/io.ts'
import { inPlainWords } from './terminal/plain-words.ts'
import { printable } from './terminal/printable.ts'

/** The command line without any command. With `jsonErrors` wrong usage is thrown without being printed. */
export function bareProgram(io: Io, jsonErrors: boolean): Command {
  const program = new Command(commandName(io))
  program
    .description(
      'Keeps MySQL clusters highly available: sub-second failover, no acknowledged write lost, a reason for everything.',
    )
    .configureOutput({
      writeOut: (text) => io.out(text.replace(/\n$/, '')),
      writeErr: (text) => io.note(text.replace(/\n$/, '')),
      outputError: (text, write) => (jsonErrors ? undefined : write(printable(inPlainWords(text)))),
    })
    .version(`regent ${regentVersion}`, '-V, --version', 'print the version')
    .configureHelp({ showGlobalOptions: true })
    .showSuggestionAfterError()
    .exitOverride()
    .addHelpText('after', helpEnd)
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

import { Option, type Command } from 'commander'
import { integerFrom } from '../terminal/arguments.ts'
import { withOutput } from '../terminal/common-options.ts'
import type { Io } from '../terminal/io.ts'
import type { LogsOptions } from './logs.ts'

export function addLogs(local: Command, io: Io): void {
  const command = local
    .command('logs')
    .description('Print the logs of a cluster’s processes; formatted for reading on a terminal, as they are otherwise.')
    .argument('[name]', 'name of the cluster')
    .argument('[instance]', 'only this instance’s agent, or manager or supervisor; may also be given alone')
    .option('-f, --follow', 'go on with what is written, until Ctrl-C')
    .addOption(
      new Option('-n, --lines <n>', 'lines of each log to begin with, 0 to 10000')
        .argParser(integerFrom(0, 10_000))
        .default(50),
    )
  withOutput(command).action(async (first: string | undefined, second: string | undefined, options: LogsOptions) => {
    const { logs } = await import('./logs.ts')
    await logs(io, first, second, options)
  })
}

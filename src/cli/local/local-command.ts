import { Argument, Option, type Command } from 'commander'
import { faults, isFault } from '#local/faults/fault-names.ts'
import { clusterArgument, instanceOrPrimary, integerFrom, pathArgument } from '../terminal/arguments.ts'
import { withOutput, type OutputOptions } from '../terminal/common-options.ts'
import type { Io } from '../terminal/io.ts'
import { toJson } from '../terminal/json-output.ts'
import { addList } from './show/list-command.ts'
import type { LogsOptions } from './show/logs.ts'
import { addScale } from './scale-command.ts'
import { addDump, addSql } from './sql/sql-command.ts'
import { addUp } from './up/up-command.ts'

/** Clusters that run on this machine. */
export function addLocal(program: Command, io: Io): void {
  const local = program.command('local').description('Run clusters on this machine.')
  for (const add of [addUp, addStatus, addFault, addScale, addDown, addList, addLogs, addSql, addDump, addSupervise])
    add(local, io)
}

function addDown(local: Command, io: Io): void {
  const command = local
    .command('down')
    .description('Stop everything of a cluster; its data stays, and "local up" brings it back.')
    .argument('[name]', 'name of the cluster', clusterArgument)
    .option('--purge', 'remove its data, archives, logs and secrets as well')
  withOutput(command).action(async (name: string | undefined, options: OutputOptions & { readonly purge?: true }) => {
    const { down } = await import('./down.ts')
    await down(io, name, options.purge === true, options.output)
  })
}

/** What `local up` starts in the background; hidden, since nobody else has a reason to. */
function addSupervise(local: Command): void {
  local
    .command('supervise', { hidden: true })
    .description('Keep the processes of the cluster in a folder running.')
    .argument('<dir>', 'the cluster’s folder', pathArgument)
    .action(async (dir: string) => {
      const { supervise } = await import('./supervise.ts')
      await supervise(dir)
    })
}

function addStatus(local: Command, io: Io): void {
  const command = local
    .command('status')
    .description('Say how to connect to a cluster, and which processes are its.')
    .argument('[name]', 'name of the cluster', clusterArgument)
    .option('--show-password', 'print the password of the client’s account too')
  withOutput(command).action(
    async (name: string | undefined, options: OutputOptions & { readonly showPassword?: true }) => {
      const [{ findCluster }, { printStatus }] = await Promise.all([
        import('#local/clusters/cluster-index.ts'),
        import('./show/status.ts'),
      ])
      await printStatus(io, await findCluster(name), options)
    },
  )
}

function addLogs(local: Command, io: Io): void {
  const command = local
    .command('logs')
    .description('Print the logs of a cluster’s processes; formatted for reading on a terminal, as they are otherwise.')
    .argument('[name]', 'name of the cluster')
    .argument('[instance]', 'only this instance’s agent, or manager, router or supervisor; may also be given alone')
    .option('-f, --follow', 'go on with what is written, until Ctrl-C')
    .addOption(
      new Option('-n, --lines <n>', 'lines of each log to begin with, 0 to 10000')
        .argParser(integerFrom(0, 10_000))
        .default(50),
    )
  withOutput(command).action(async (first: string | undefined, second: string | undefined, options: LogsOptions) => {
    const { logs } = await import('./show/logs.ts')
    await logs(io, first, second, options)
  })
}

function addFault(local: Command, io: Io): void {
  const explained = Object.entries(faults).map(([name, what]) => `  ${name.padEnd(13)} ${what}`)
  const command = local
    .command('fault')
    .description('Break an instance on purpose, and mend it again.')
    .argument('<instance>', 'the instance; "primary", or "<cluster>/primary", for whoever leads now', instanceOrPrimary)
    .addArgument(new Argument('<fault>', 'what to do to it').choices(Object.keys(faults)))
    .addHelpText('after', `\nFaults:\n${explained.join('\n')}`)
  withOutput(command).action(async (named: string, fault: string, options: OutputOptions) => {
    const [{ injectFault }, { instanceNamed }, { layoutOf }] = await Promise.all([
      import('#local/faults/fault.ts'),
      import('./instance-named.ts'),
      import('#local/folder/state-layout.ts'),
    ])
    const { dir, cluster, instance } = await instanceNamed(named)
    if (!isFault(fault)) return
    const sentence = await injectFault(layoutOf(dir), cluster, instance, fault)
    io.out(options.output === 'json' ? toJson({ instance, fault, sentence }) : sentence)
  })
}

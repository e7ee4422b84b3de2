import { Option, type Command } from 'commander'
import { clusterArgument, integerFrom, listenArgument, pathArgument } from '../terminal/arguments.ts'
import { orchestratorHosts, withOutput, type OutputOptions } from '../terminal/common-options.ts'
import type { Io } from '../terminal/io.ts'
import { optionsOf } from './options-of.ts'
import type { AdoptOptions } from './adopt-options.ts'

/** Servers that are there already, as they are. Options of `adopt` are read by `adopt` itself, also behind a verb. */
export function addAdopt(program: Command, io: Io): void {
  const adopt = program
    .command('adopt')
    .description(
      'Watch MySQL servers that are there already: say who replicates from whom, what is wrong, and what Regent would do. Nothing is changed there.',
    )
    .argument('[file]', 'what is to be adopted, YAML: docs/guide/adopt.md', pathArgument)
    .addOption(new Option('--mha <file>', 'adopt what this configuration file of MHA names').argParser(pathArgument))
    .addOption(
      new Option('--mha-global <file>', 'with --mha: the file with the defaults of all its clusters').argParser(
        pathArgument,
      ),
    )
    .addOption(
      new Option(
        '--orchestrator <file>',
        'take account, filters and interface of this configuration file of orchestrator, key by key; servers from --from, or its DiscoverySeeds',
      ).argParser(pathArgument),
    )
    .option('--from <address>', 'adopt the servers that are found from this one, <host>[:<port>]')
    .addOption(new Option('--name <name>', 'with --mha and --from: name of the cluster').argParser(clusterArgument))
    .option('--user <user>', 'with --from: the account that looks at the servers')
    .addOption(
      new Option('--password-file <file>', 'with --from: file whose first line is its password').argParser(
        pathArgument,
      ),
    )
    .option('--check', 'only look, and say what is found and missing; nothing is kept or started')
    .addOption(portOption())
  addInterface(adopt)
  withOutput(adopt).action(async (file: string | undefined, options: AdoptOptions) => {
    const { adopt: run } = await import('./adopt.ts')
    await run(io, file, options)
  })
  for (const add of [addList, addRemove, addStart, addServe]) add(adopt, io)
}

/** How orchestrator’s interface is served over the clusters that are watched. */
function addInterface(command: Command): void {
  command
    .addOption(
      new Option(
        '--orchestrator-listen <address>',
        'serve orchestrator’s interface here, to whoever reaches it: [address]:port, or :port for 127.0.0.1; remembered (default: not at all)',
      ).argParser(listenArgument),
    )
    .addOption(orchestratorHosts())
    .addOption(
      new Option(
        '--orchestrator-login-file <file>',
        'file with user:password that is asked of everybody there; remembered (default: nobody is asked)',
      ).argParser(pathArgument),
    )
    .option(
      '--orchestrator-also <url...>',
      'answer there for the clusters of these managers too, each named by the address of its own orchestrator’s interface; remembered',
    )
    .option('--orchestrator-read-only', 'nothing is changed by that; remembered')
}

function portOption(): Option {
  return new Option(
    '--port <port>',
    'port of the manager’s API on this machine (default: 9510, or the one it has)',
  ).argParser(integerFrom(1, 65_535))
}

function addList(adopt: Command, io: Io): void {
  withOutput(adopt.command('list').description('List the clusters that were adopted.')).action(
    async (_: unknown, command: Command) => {
      const options = optionsOf<OutputOptions>(command)
      const { listAdopted } = await import('./list.ts')
      await listAdopted(io, options)
    },
  )
}

function addRemove(adopt: Command, io: Io): void {
  const command = adopt
    .command('remove')
    .description('Watch a cluster no more; its servers stay as they are.')
    .argument('<name>', 'name of the cluster', clusterArgument)
  withOutput(command).action(async (name: string, _: unknown, own: Command) => {
    const options = optionsOf<OutputOptions>(own)
    const { removeAdopted } = await import('./list.ts')
    await removeAdopted(io, name, options)
  })
}

function addStart(adopt: Command, io: Io): void {
  const command = adopt
    .command('start')
    .description('Start the manager that watches, where it does not run: after this machine was started anew.')
    .addOption(portOption())
  addInterface(command)
  withOutput(command).action(async (_: unknown, own: Command) => {
    const options = optionsOf<AdoptOptions>(own)
    const { startWatching } = await import('./background.ts')
    const { interfaceSaid, keepInterface } = await import('./interface.ts')
    const { toJson } = await import('../terminal/json-output.ts')
    await keepInterface(io, await interfaceSaid(options), options)
    const { host, port } = await startWatching(io, options.port)
    const sentence = `the manager that watches listens on ${host}:${port}`
    io.out(options.output === 'json' ? toJson({ host, port, sentence }) : sentence)
  })
}

/** What `adopt` starts in the background; hidden, since only a service manager has a reason to. */
function addServe(adopt: Command): void {
  adopt
    .command('serve', { hidden: true })
    .description('Watch every adopted cluster until SIGTERM.')
    .argument('<port>', 'port of the API on this machine', integerFrom(1, 65_535))
    .action(async (port: number) => {
      const { runWatching } = await import('#adopt/serve/run.ts')
      await runWatching({ host: '127.0.0.1', port })
      process.exit(0)
    })
}

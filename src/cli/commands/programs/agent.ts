import { flushCompileCache } from 'node:module'
import { setFlagsFromString } from 'node:v8'
import { Option, type Command } from 'commander'
import { pathArgument } from '#cli/terminal/arguments.ts'

export function addAgent(program: Command): void {
  program
    .command('agent')
    .description(
      'Run the agent of one instance: it watches its mysqld, reports, and makes it what it is assigned to be. ' +
        '"local up" starts one per instance. Ends on SIGTERM and leaves its mysqld running.',
    )
    .addOption(
      new Option('--config <file>', 'the agent’s configuration, JSON: docs/reference/configuration.md')
        .argParser(pathArgument)
        .makeOptionMandatory(),
    )
    .action(async (flags: { readonly config: string }) => {
      const [{ readAgentConfig }, { runAgent }] = await Promise.all([
        import('./agent-config-file.ts'),
        import('#agents/run.ts'),
      ])
      flushCompileCache()
      // Garbage is collected early: an agent's memory matters more than its speed (seen: 94 MB under faults, not 104).
      setFlagsFromString('--optimize-for-size')
      await runAgent(await readAgentConfig(flags.config))
      // What is still open, a query to a server that hangs for one, must not keep an ended agent alive.
      process.exit(0)
    })
}

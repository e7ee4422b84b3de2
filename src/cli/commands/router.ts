import { flushCompileCache } from 'node:module'
import { resolve } from 'node:path'
import { Option, type Command } from 'commander'
import { logLevels } from '#common/log/log-levels.ts'
import { oneOf, pathArgument } from '../terminal/arguments.ts'

export function addRouter(program: Command): void {
  program
    .command('router')
    .description(
      'Run the router of a local cluster: one address that never changes, with HAProxy behind. It follows the record and the agents. "local up --router" starts one. Ends on SIGTERM, and its sessions with it.',
    )
    .addOption(
      new Option('--log-level <level>', `how much is logged: ${logLevels.join(', ')}`)
        .argParser(oneOf(...logLevels))
        .default('info'),
    )
    .addOption(
      new Option('--cluster-dir <dir>', 'folder of the local cluster').argParser(pathArgument).makeOptionMandatory(),
    )
    .action(async ({ clusterDir, logLevel }: { readonly clusterDir: string; readonly logLevel: string }) => {
      const { runRouter } = await import('#router/run.ts')
      flushCompileCache()
      await runRouter({ clusterDir: resolve(clusterDir), logLevel })
      // What is still open must not keep an ended router alive.
      process.exit(0)
    })
}

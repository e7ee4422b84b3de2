import { flushCompileCache } from 'node:module'
import { resolve } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { Option, type Command } from 'commander'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { logLevels } from '#common/log/log-levels.ts'
import { oneOf, pathArgument } from '#cli/terminal/arguments.ts'

interface Said {
  readonly clusterDir?: string
  readonly config?: string
  readonly logLevel: string
}

export function addRouter(program: Command): void {
  program
    .command('router')
    .description(
      'Run a router: one address that never changes, with HAProxy behind. It follows the record and the agents. ' +
        '"local up --router" starts one, and on Kubernetes spec.router does. Ends on SIGTERM, and its sessions ' +
        'with it.',
    )
    .addOption(
      new Option('--log-level <level>', `how much is logged: ${logLevels.join(', ')}`)
        .argParser(oneOf(...logLevels))
        .default('info'),
    )
    .addOption(new Option('--cluster-dir <dir>', 'folder of the local cluster').argParser(pathArgument))
    .addOption(new Option('--config <file>', 'settings of a router on Kubernetes').argParser(pathArgument))
    .action(async ({ clusterDir, config, logLevel }: Said) => {
      if ((clusterDir === undefined) === (config === undefined))
        throw new RegentError(
          'REGENT_BAD_REQUEST',
          say`a router is told either --cluster-dir, or --config on Kubernetes`,
        )
      compileOnce()
      if (clusterDir !== undefined) await runLocal(resolve(clusterDir), logLevel)
      if (config !== undefined) await runOnKubernetes(resolve(config), logLevel)
      // What is still open must not keep an ended router alive.
      process.exit(0)
    })
}

/**
 * V8 is to keep the first code of each function. A router reads a few short messages a second, and V8's optimizing
 * compilers would take 10 of its 87 MB (seen: Node 24.21).
 */
function compileOnce(): void {
  setFlagsFromString('--no-maglev')
  setFlagsFromString('--no-turbofan')
}

async function runLocal(clusterDir: string, logLevel: string): Promise<void> {
  const { runRouter } = await import('#router/run.ts')
  flushCompileCache()
  await runRouter({ clusterDir, logLevel })
}

async function runOnKubernetes(config: string, logLevel: string): Promise<void> {
  const { runKubernetesRouter } = await import('#router/kubernetes/run.ts')
  flushCompileCache()
  await runKubernetesRouter({ config, logLevel })
}

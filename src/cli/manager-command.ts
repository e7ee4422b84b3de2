import { flushCompileCache } from 'node:module'
import { resolve } from 'node:path'
import { Option, type Command } from 'commander'
import { addressArgument, integerFrom, oneOf, pathArgument, storeArgument } from './arguments.ts'

interface ManagerFlags {
  readonly clusterDir: string
  readonly store?: string
  readonly allowVolatileStore?: true
  readonly host?: string
  readonly port?: number
  readonly tokenFile?: string
  readonly agentTokenFile?: string
  readonly logLevel: string
}

export function addManager(program: Command): void {
  program
    .command('manager')
    .description('Run a manager: it watches a cluster through its agents, decides, and serves the API. "local up" starts one. Ends in order on SIGTERM; a manager’s end never stops writes.')
    .addOption(new Option('--cluster-dir <dir>', 'folder of the local cluster to manage').argParser(pathArgument).makeOptionMandatory())
    .addOption(new Option('--store <url>', 'where the record lives: file (in the cluster’s folder) or redis://…, its password in REGENT_REDIS_PASSWORD (default: what local up was told)').argParser(storeArgument))
    .option('--allow-volatile-store', 'accept a Redis that could forget what it confirmed')
    .addOption(new Option('--host <address>', 'address the API listens on (default: that of the cluster, 127.0.0.1)').argParser(addressArgument))
    .addOption(new Option('--port <port>', 'port the API listens on (default: that of the cluster, 9500)').argParser(integerFrom(1, 65_535)))
    .addOption(new Option('--token-file <file>', 'file with the API’s token (default: secrets/api-token of the cluster)').argParser(pathArgument))
    .addOption(new Option('--agent-token-file <file>', 'file with the agents’ token (default: secrets/agent-token of the cluster)').argParser(pathArgument))
    .addOption(logLevelOption())
    .action(async (flags: ManagerFlags) => {
      const [{ readCluster }, { layoutOf }, { runManager }] = await Promise.all([
        import('../local/cluster-file.ts'),
        import('../local/state-layout.ts'),
        import('../manager/run.ts'),
      ])
      const clusterDir = resolve(flags.clusterDir)
      const [cluster, layout] = [await readCluster(clusterDir), layoutOf(clusterDir)]
      flushCompileCache()
      await runManager({
        clusterDir,
        storeUrl: flags.store ?? cluster.store,
        allowVolatileStore: flags.allowVolatileStore === true,
        host: flags.host ?? cluster.api.host,
        port: flags.port ?? cluster.api.port,
        tokenFile: resolve(flags.tokenFile ?? layout.apiToken),
        agentTokenFile: resolve(flags.agentTokenFile ?? layout.agentToken),
        logLevel: flags.logLevel,
      })
      // What is still open must not keep an ended manager alive.
      process.exit(0)
    })
}

export function logLevelOption(): Option {
  return new Option('--log-level <level>', 'how much is logged: trace, debug, info, warn, error, fatal or silent')
    .argParser(oneOf('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'))
    .default('info')
}

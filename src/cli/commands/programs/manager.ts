import { flushCompileCache } from 'node:module'
import { resolve } from 'node:path'
import { Option, type Command } from 'commander'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { logLevels } from '#common/log/log-levels.ts'
import {
  addressArgument,
  integerFrom,
  listenArgument,
  oneOf,
  pathArgument,
  storeArgument,
} from '#cli/terminal/arguments.ts'
import type { LocalCluster } from '#local/folder/cluster-file.ts'
import type { ListenAddress } from '#manager/options/listen-address.ts'
import type { ManagerOptions } from '#manager/run.ts'
import type { Io } from '#cli/terminal/io.ts'
import { kubernetesGroup, localGroup } from './manager-groups.ts'

type HostNames = 'address' | 'name'

interface LocalFlags {
  readonly clusterDir: string
  readonly store?: string
  readonly allowVolatileStore?: true
  readonly host?: string
  readonly port?: number
  readonly tokenFile?: string
  readonly agentTokenFile?: string
  readonly logLevel?: string
  readonly orchestrator?: ListenAddress
  readonly orchestratorHosts?: HostNames
  readonly orchestratorLoginFile?: string
  readonly orchestratorReadOnly?: string
}

interface ManagerFlags extends Partial<LocalFlags> {
  readonly config?: string
}

/** The flags of a manager on Kubernetes are added by `addKubernetesFlags`. */
export function addManager(program: Command, io: Io): void {
  program
    .command('manager')
    .description(
      'Run a manager: it watches clusters through their agents, decides, and serves the API. With --cluster-dir ' +
        'it is that of a local cluster, as "local up" starts one; otherwise it manages the clusters on ' +
        'Kubernetes. Ends in order on SIGTERM; a manager’s end never stops writes.',
    )
    .addOption(
      new Option('--log-level <level>', `how much is logged: ${logLevels.join(', ')} (default: info)`).argParser(
        oneOf(...logLevels),
      ),
    )
    .addOption(local('--cluster-dir <dir>', 'folder of the local cluster to manage').argParser(pathArgument))
    .addOption(
      local(
        '--store <url>',
        'where the record lives: file (in the cluster’s folder) or redis://…, its password in REGENT_REDIS_PASSWORD (default: what local up was told)',
      ).argParser(storeArgument),
    )
    .addOption(local('--allow-volatile-store', 'accept a Redis that could forget what it confirmed'))
    .addOption(
      local('--host <address>', 'address the API listens on (default: that of the cluster, 127.0.0.1)').argParser(
        addressArgument,
      ),
    )
    .addOption(
      local('--port <port>', 'port the API listens on (default: that of the cluster, 9500)').argParser(
        integerFrom(1, 65_535),
      ),
    )
    .addOption(
      local('--token-file <file>', 'file with the API’s token (default: secrets/api-token of the cluster)').argParser(
        pathArgument,
      ),
    )
    .addOption(
      local(
        '--agent-token-file <file>',
        'file with the agents’ token (default: secrets/agent-token of the cluster)',
      ).argParser(pathArgument),
    )
    .addOption(
      local(
        '--orchestrator <address>',
        'serve orchestrator’s interface here, to whoever reaches it: [address]:port, or :port for 127.0.0.1 (default: as local up was told, or not at all)',
      ).argParser(listenArgument),
    )
    .addOption(
      new Option(
        '--orchestrator-hosts <what>',
        'how orchestrator’s interface calls servers: address or name, as shop-0 (default: address)',
      ).argParser(oneOf('address', 'name')),
    )
    .addOption(
      new Option(
        '--orchestrator-login-file <file>',
        'file with user:password that is asked of everybody there (default: nobody is asked)',
      ).argParser(pathArgument),
    )
    .addOption(
      new Option(
        '--orchestrator-read-only [true|false]',
        'nothing is changed through orchestrator’s interface (default: false)',
      )
        .preset('true')
        .argParser(oneOf('true', 'false')),
    )
    .addOption(
      new Option(
        '--config <file>',
        'the manager’s options, YAML: docs/reference/configuration.md; variables win over it, and flags over both',
      )
        .argParser(pathArgument)
        .helpGroup(kubernetesGroup),
    )
    .action(async (flags: ManagerFlags, command: Command) => {
      const { clusterDir } = flags
      const [stranger] = saidOf(command, clusterDir === undefined ? localGroup : kubernetesGroup)
      if (stranger !== undefined && clusterDir === undefined)
        throw new RegentError(
          'REGENT_BAD_REQUEST',
          say`${stranger} is for the manager of a local cluster, which --cluster-dir names`,
        )
      if (stranger !== undefined)
        throw new RegentError(
          'REGENT_BAD_REQUEST',
          say`${stranger} is for a manager on Kubernetes, --cluster-dir for that of a local cluster; give one or the other`,
        )
      await (clusterDir === undefined ? runOnKubernetes(flags, command, io) : runLocal({ ...flags, clusterDir }))
      // What is still open must not keep an ended manager alive.
      process.exit(0)
    })
}

function local(flags: string, description: string): Option {
  return new Option(flags, description).helpGroup(localGroup)
}

/** Options of a group that the command line gives. */
function saidOf(command: Command, group: string): readonly string[] {
  return command.options.flatMap((option) =>
    option.helpGroupHeading === group && command.getOptionValueSource(option.attributeName()) === 'cli'
      ? [option.long ?? '']
      : [],
  )
}

async function runOnKubernetes({ config }: ManagerFlags, command: Command, io: Io): Promise<void> {
  const [{ kubernetesFlagsIn }, { loadKubernetesOptions }, { runKubernetesManager }] = await Promise.all([
    import('./manager-flags.ts'),
    import('#manager/options/load.ts'),
    import('#manager/kubernetes/run.ts'),
  ])
  const options = await loadKubernetesOptions({
    flags: kubernetesFlagsIn(command),
    env: io.env,
    ...(config === undefined ? {} : { file: resolve(config) }),
  })
  flushCompileCache()
  await runKubernetesManager(options)
}

async function runLocal(flags: LocalFlags): Promise<void> {
  const [{ readCluster }, { layoutOf }, { runManager }] = await Promise.all([
    import('#local/folder/cluster-file.ts'),
    import('#local/folder/state-layout.ts'),
    import('#manager/run.ts'),
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
    logLevel: flags.logLevel ?? 'info',
    ...orchestratorOf(flags, cluster.orchestrator),
  })
}

/** What the command line says wins over what the cluster was made with. */
function orchestratorOf(flags: LocalFlags, known: LocalCluster['orchestrator']): Pick<ManagerOptions, 'orchestrator'> {
  const address = flags.orchestrator ?? (known && { host: '127.0.0.1', port: known.port })
  if (address === undefined) return {}
  const { orchestratorLoginFile: loginFile } = flags
  const orchestrator = {
    ...address,
    hostNames: flags.orchestratorHosts ?? known?.hosts ?? 'address',
    readOnly: flags.orchestratorReadOnly === 'true',
    ...(loginFile === undefined ? {} : { loginFile: resolve(loginFile) }),
  }
  return { orchestrator }
}

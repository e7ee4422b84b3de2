import { flushCompileCache } from 'node:module'
import { Option, type Command } from 'commander'
import { pathArgument } from '#cli/terminal/arguments.ts'

export function addRemoteAgents(program: Command): void {
  program
    .command('remote-agents')
    .description(
      'Run the agents of a cluster whose servers are on other hosts, where nothing of Regent is installed: they ' +
        'speak with their servers by SQL and SSH. "adopt manage" starts it. Ends on SIGTERM; every mysqld goes ' +
        'on.',
    )
    .addOption(new Option('--cluster-dir <dir>', 'folder of the cluster').argParser(pathArgument).makeOptionMandatory())
    .action(async ({ clusterDir }: { readonly clusterDir: string }) => {
      const [{ readCluster }, { agentConfigPath, layoutOf }, { readAgentConfig }, { runRemoteAgents }] =
        await Promise.all([
          import('#local/folder/cluster-file.ts'),
          import('#local/folder/state-layout.ts'),
          import('./agent-config-file.ts'),
          import('#agents/run-remote.ts'),
        ])
      flushCompileCache()
      const { instances } = await readCluster(clusterDir)
      const configs = instances.map(({ name }) => readAgentConfig(agentConfigPath(layoutOf(clusterDir), name), {}))
      await runRemoteAgents(await Promise.all(configs))
      process.exit(0)
    })
}

import { Option, type Command } from 'commander'
import { apiUrlArgument, contextArgument, namespaceArgument, oneOf, pathArgument } from './arguments.ts'

/** How results are printed. */
export interface OutputOptions {
  readonly output: 'text' | 'json'
}

/** Which manager on Kubernetes is asked, and in which namespace clusters are looked for. */
export interface KubernetesOptions {
  readonly context?: string
  readonly namespace?: string
  readonly kubeconfig?: string
  readonly managerNamespace?: string
}

/** Which manager is asked. */
export interface ApiOptions extends OutputOptions, KubernetesOptions {
  readonly api?: string
  readonly tokenFile?: string
}

export function withOutput(command: Command): Command {
  return command.addOption(
    new Option('-o, --output <format>', 'how results (and errors) are printed: text or json')
      .argParser(oneOf('text', 'json'))
      .default('text'),
  )
}

/** How a command that starts a manager has orchestrator's interface call servers. */
export function orchestratorHosts(): Option {
  return new Option(
    '--orchestrator-hosts <what>',
    'how that calls servers: address or name, as shop-0; remembered (default: address)',
  ).argParser(oneOf('address', 'name'))
}

/** For commands that ask a manager: a local cluster's, unless told otherwise. */
export function withApi(command: Command): Command {
  return withOutput(command)
    .addOption(
      new Option('--api <url>', 'base URL of the manager (default: REGENT_API, else the local cluster’s)').argParser(
        apiUrlArgument,
      ),
    )
    .addOption(
      new Option(
        '--token-file <file>',
        'file with the API’s token (default: REGENT_TOKEN_FILE, else the local cluster’s)',
      ).argParser(pathArgument),
    )
    .addOption(
      new Option(
        '-n, --namespace <namespace>',
        'look on Kubernetes, for a cluster in this namespace (default: the context’s)',
      ).argParser(namespaceArgument),
    )
    .addOption(
      new Option(
        '--context <name>',
        'look on Kubernetes, where this context of the kubeconfig leads (default: the current context)',
      ).argParser(contextArgument),
    )
    .addOption(
      new Option(
        '--kubeconfig <file>',
        'look on Kubernetes, as this file says (default: KUBECONFIG, else ~/.kube/config)',
      ).argParser(pathArgument),
    )
    .addOption(
      new Option(
        '--manager-namespace <namespace>',
        'look on Kubernetes, where Regent is installed in this namespace (default: regent)',
      ).argParser(namespaceArgument),
    )
}

/** For commands that change something. */
export interface DryRunOptions extends ApiOptions {
  readonly dryRun?: true
}

export function withDryRun(command: Command): Command {
  return command.option('--dry-run', 'say what would be done, and do nothing')
}

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Commands } from '../support/commands.ts'
import { interruption } from '../support/interruption.ts'

const tool = join(import.meta.dirname, '..', '..', 'scripts', 'kube', 'kube')

export interface OnKubernetes {
  readonly keep?: boolean
  /** Of addresses of a cluster that this makes. */
  readonly families?: string
}

/**
 * Runs a command where it reaches a cluster's API server, Services and pods: in the control plane's network of a
 * cluster of three nodes that this makes (`npm run kube`), with Regent and a cluster `demo` installed, and ends
 * afterwards unless it is to be kept; or right here on the one that `REGENT_E2E_KUBECONFIG` names, which has Regent.
 * Told to stop, it ends the command and, whatever was to be kept, the cluster. Resolves to the exit status.
 */
export async function onKubernetes(
  command: readonly string[],
  { keep = false, families }: OnKubernetes = {},
): Promise<number> {
  const given = process.env['REGENT_E2E_KUBECONFIG']
  const missing = given === undefined ? whatIsMissing() : whyNotGiven(given)
  if (missing.length > 0) {
    tellMissing(missing)
    return 1
  }
  const commands = new Commands()
  interruption().addEventListener('abort', () => commands.stop())
  if (given !== undefined) return commands.run(command, { env: { KUBECONFIG: given } })
  return onOwnCluster(commands, command, { keep, families })
}

async function onOwnCluster(
  commands: Commands,
  command: readonly string[],
  { keep, families }: { readonly keep: boolean; readonly families: string | undefined },
): Promise<number> {
  const began = performance.now()
  const env = families === undefined ? {} : { REGENT_KUBE_FAMILIES: families }
  let status = await commands.run(['bash', tool, 'up', '3'], { env })
  // What did not come up has cleared up after itself, unless it was killed in doing so.
  if (status !== 0 && !commands.stopped) return 1
  try {
    status = await commands.run(['bash', tool, 'install'])
    if (status === 0) {
      console.error(`── Regent and a cluster are ready after ${seconds(began)} s`)
      status = await commands.run(['bash', tool, 'exec', ...command])
    }
  } finally {
    if (!keep || commands.stopped) await commands.run(['bash', tool, 'down'], { insists: true })
  }
  console.error(`── ${commands.stopped ? 'interrupted' : status === 0 ? 'passed' : 'failed'} after ${seconds(began)} s`)
  return status
}

function whyNotGiven(file: string): readonly string[] {
  return existsSync(file) ? [] : [`REGENT_E2E_KUBECONFIG names ${file}, which does not exist.`]
}

function tellMissing(missing: readonly string[]): void {
  console.error(
    [
      '',
      'This needs a real cluster of Kubernetes, and cannot make one here:',
      '',
      ...missing.map((line) => `  - ${line}`),
      '',
      'docs/start/kubernetes-on-one-machine.md says more.',
      '',
    ].join('\n'),
  )
}

function whatIsMissing(): readonly string[] {
  const programs = join(process.env['REGENT_KUBE_HOME'] || '/var/tmp/regent-kube', 'bin')
  if (process.platform !== 'linux')
    return [
      `This is ${process.platform}: a cluster on one machine needs Linux. Or name another cluster: REGENT_E2E_KUBECONFIG=FILE`,
    ]
  return [
    ...(process.getuid?.() === 0 ? [] : ['Network namespaces and cgroups need root: run the same with sudo.']),
    ...(existsSync(join(programs, 'helm')) && existsSync(join(programs, 'kube-components'))
      ? []
      : [
          `Kubernetes is not built in ${programs}: npm run kube -- deps, then npm run kube -- build (once, about 15 minutes on two cores).`,
        ]),
  ]
}

function seconds(began: number): string {
  return ((performance.now() - began) / 1_000).toFixed(0)
}

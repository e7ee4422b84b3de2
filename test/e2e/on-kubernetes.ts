import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'

const tool = join(import.meta.dirname, '..', '..', 'scripts', 'kube', 'kube')

/**
 * Runs a command where it reaches a cluster's API server, Services and pods: in the control plane's network of a cluster of three nodes that this makes (`npm run kube`), with Regent and a cluster `demo` installed, and ends afterwards
 * unless it is to be kept; or right here on the one that `REGENT_E2E_KUBECONFIG` names, which has Regent. Resolves to the exit status.
 */
export async function onKubernetes(command: readonly string[], { keep = false }: { readonly keep?: boolean } = {}): Promise<number> {
  const began = performance.now()
  const given = process.env['REGENT_E2E_KUBECONFIG']
  const missing = given === undefined ? whatIsMissing() : existsSync(given) ? [] : [`REGENT_E2E_KUBECONFIG names ${given}, which does not exist.`]
  if (missing.length > 0) {
    console.error(['', 'These tests need a real cluster, and cannot make one here:', '', ...missing.map((line) => `  - ${line}`), '', 'docs/kubernetes-on-one-machine.md says more.', ''].join('\n'))
    return 1
  }
  if (given !== undefined) return run(command, { KUBECONFIG: given })
  // A second Ctrl-C does not break off what puts the machine right again: that runs in a process group of its own.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)
  if ((await run(['bash', tool, 'up', '3'])) !== 0) return 1
  let status = 1
  try {
    status = await run(['bash', tool, 'install'])
    console.error(`── Regent and a cluster are ready after ${seconds(began)} s`)
    if (status === 0) status = await run(['bash', tool, 'exec', ...command])
  } finally {
    if (!keep) await run(['bash', tool, 'down'], {}, true)
  }
  console.error(`── ${status === 0 ? 'passed' : 'failed'} after ${seconds(began)} s`)
  return status
}

function whatIsMissing(): readonly string[] {
  const programs = join(process.env['REGENT_KUBE_HOME'] || '/var/tmp/regent-kube', 'bin')
  if (process.platform !== 'linux') return [`This is ${process.platform}: a cluster on one machine needs Linux. Or name another cluster: REGENT_E2E_KUBECONFIG=FILE`]
  return [
    ...(process.getuid?.() === 0 ? [] : ['Network namespaces and cgroups need root: run the same with sudo.']),
    ...(existsSync(join(programs, 'helm')) && existsSync(join(programs, 'kube-components')) ? [] : [`Kubernetes is not built in ${programs}: npm run kube -- deps, then npm run kube -- build (once, about 15 minutes on two cores).`]),
  ]
}

function run([program = '', ...words]: readonly string[], env: NodeJS.ProcessEnv = {}, detached = false): Promise<number> {
  const child = spawn(program, words, { stdio: 'inherit', env: { ...process.env, ...env }, detached })
  return new Promise((resolve, reject) => child.once('error', reject).once('close', (status) => resolve(status ?? 1)))
}

function seconds(began: number): string {
  return ((performance.now() - began) / 1_000).toFixed(0)
}

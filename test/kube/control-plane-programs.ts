import { dirname, isAbsolute, join } from 'node:path'
import { firstExecutable, onPath } from '#local/packages/executables.ts'

/** Kubernetes' own programs, which the tests of this folder run as they are. */
export interface ControlPlanePrograms {
  readonly etcd: string
  readonly kubeApiserver: string
}

/**
 * In the folder that `KUBEBUILDER_ASSETS` names, on PATH, or where `npm run kube -- build` puts them; both from one
 * place. Undefined where there are none.
 */
export async function findControlPlane(
  env: NodeJS.ProcessEnv = process.env,
): Promise<ControlPlanePrograms | undefined> {
  const onPathAt = await onPath('kube-apiserver', env['PATH'])
  const folders = [
    env['KUBEBUILDER_ASSETS'],
    onPathAt === undefined ? undefined : dirname(onPathAt),
    join(env['REGENT_KUBE_HOME'] || '/var/tmp/regent-kube', 'bin'),
  ]
  for (const folder of folders) {
    if (folder === undefined || !isAbsolute(folder)) continue
    const [etcd, kubeApiserver] = await Promise.all([
      firstExecutable([join(folder, 'etcd')]),
      firstExecutable([join(folder, 'kube-apiserver')]),
    ])
    if (etcd !== undefined && kubeApiserver !== undefined) return { etcd, kubeApiserver }
  }
  return undefined
}

/** What is said, once and so that nobody overlooks it, where some are missing. */
export const missingPrograms = [
  '',
  '┌──────────────────────────────────────────────────────────────────────────────────────────────┐',
  '│  NOT TESTED: what needs a real kube-apiserver, etcd or helm, which are not all here.         │',
  '│  That is the custom resource definition, records and leases kept in Kubernetes, the          │',
  '│  controller runtime, and the charts. To get the programs (root, Go 1.24 or newer, about      │',
  '│  15 minutes, once):                                                                          │',
  '│                                                                                              │',
  '│      npm run kube -- deps && npm run kube -- build                                           │',
  '│                                                                                              │',
  '│  Or name a folder that has the first two, and helm:                                          │',
  '│      KUBEBUILDER_ASSETS=/path/to/them REGENT_HELM=/path/to/helm npm test                     │',
  '└──────────────────────────────────────────────────────────────────────────────────────────────┘',
  '',
].join('\n')

import { join } from 'node:path'
import { firstExecutable, onPath } from '#local/packages/executables.ts'

/** The one that `REGENT_HELM` names, on PATH, or where `npm run kube -- build` puts it. */
export async function findHelm(env: NodeJS.ProcessEnv = process.env): Promise<string> {
  const named = env['REGENT_HELM']
  const home = env['REGENT_KUBE_HOME'] || '/var/tmp/regent-kube'
  const found = named
    ? await firstExecutable([named])
    : ((await onPath('helm', env['PATH'])) ?? (await firstExecutable([join(home, 'bin', 'helm')])))
  if (found !== undefined) return found
  throw new Error(
    named
      ? `REGENT_HELM is ${named}, which cannot be executed`
      : `the charts cannot be tested without helm, which is neither on PATH nor in ${home}/bin; get it with "npm run kube -- build", or name it with REGENT_HELM`,
  )
}

import { join } from 'node:path'
import { onKubernetes } from '../e2e/on-kubernetes.ts'

/** `npm run bench:kube`: what `kube-cases.ts` measures, where it reaches a cluster that this makes. */
process.exitCode = await onKubernetes([process.execPath, join(import.meta.dirname, 'kube-cases.ts'), ...process.argv.slice(2)])

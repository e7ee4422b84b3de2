import { join } from 'node:path'
import { onKubernetes } from '../e2e/on-kubernetes.ts'
import { Commands } from '../support/commands.ts'

/**
 * `npm run bench:kube`: what `kube-cases.ts` measures, where it reaches a cluster that this makes; or, for `clusters`,
 * what `many-clusters.ts` measures, which needs no nodes.
 */
const [first = '', ...words] = process.argv.slice(2)
const program = (name: string) => [process.execPath, join(import.meta.dirname, name)]

/**
 * Addresses of pods may not be loopback ones, and nobody else's may be taken: in a network of its own, which goes with
 * the last process in it, a whole range is the machine's.
 */
const ownNetwork = [
  'unshare',
  '--net',
  'sh',
  '-c',
  'ip link set lo up && ip route add local 10.251.0.0/16 dev lo && exec "$@"',
  'sh',
]

function manyClusters(): Promise<number> {
  const commands = new Commands()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => commands.stop())
  return commands.run([...ownNetwork, ...program('many-clusters.ts'), ...words])
}

if (first === 'clusters' && process.getuid?.() !== 0) {
  console.error('A network namespace for simulated agents needs root: run the same with sudo.')
  process.exitCode = 1
} else
  process.exitCode = await (first === 'clusters'
    ? manyClusters()
    : onKubernetes([...program('kube-cases.ts'), ...process.argv.slice(2)]))

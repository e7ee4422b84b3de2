import { join } from 'node:path'
import { onKubernetes } from '../e2e/on-kubernetes.ts'
import { describeError } from '#common/errors/errors.ts'
import { Commands } from '../support/commands.ts'
import { interruption } from '../support/interruption.ts'
import { kubeBenchOf, kubeBenchUsage } from './kube-arguments.ts'

/**
 * `npm run bench:kube`: what `kube-cases.ts` measures, where it reaches a cluster that this makes; or, for `clusters`,
 * what `many-clusters.ts` measures, which needs no nodes. What is said is checked before anything is started: a cluster
 * takes minutes.
 */
const words = process.argv.slice(2)
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
  interruption().addEventListener('abort', () => commands.stop())
  return commands.run([...ownNetwork, ...program('many-clusters.ts'), ...words.slice(1)])
}

async function main(): Promise<number> {
  const { what } = kubeBenchOf(words)
  if (what === 'usage') return (console.log(kubeBenchUsage), 0)
  if (what === 'cases') return onKubernetes([...program('kube-cases.ts'), ...words])
  if (process.getuid?.() === 0) return manyClusters()
  throw new Error('A network namespace for simulated agents needs root: run the same with sudo.')
}

try {
  process.exitCode = await main()
} catch (error) {
  console.error(describeError(error))
  process.exitCode = 1
}

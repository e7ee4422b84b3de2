import { parseArgs, type ParseArgsConfig } from 'node:util'
import { defaultMode, modes, type ModeName } from '#failover/protocol/mode-name.ts'
import { integerFrom } from '#cli/terminal/arguments.ts'
import { describeError } from '#common/errors/errors.ts'
import { episodes, type EpisodeName } from './kube-episodes.ts'

export type KubeCase = EpisodeName | 'create' | 'all-pods'
export const kubeCases = ['create', ...Object.keys(episodes), 'all-pods'] as readonly KubeCase[]

export type KubeBench =
  | { readonly what: 'usage' }
  | ({ readonly what: 'clusters' } & ClustersOptions)
  | ({ readonly what: 'cases' } & CasesOptions)

export interface ClustersOptions {
  readonly counts: readonly number[]
  readonly runs: number
  readonly json: string
}

export interface CasesOptions {
  readonly cases: readonly KubeCase[]
  readonly mode: ModeName
  readonly runs: number
  readonly restless: boolean
  /** A second client writes through the router. */
  readonly router: boolean
  readonly json: string
}

export const kubeBenchUsage = `usage: npm run bench:kube -- [CASE …] [--mode semisync|async|group] [--runs 20] [--restless] [--router] [--json .cache/bench-kube.json]
       npm run bench:kube -- clusters [--counts 1,10,100,300] [--runs 20] [--json .cache/bench-clusters.json]

  CASE        ${kubeCases.join(', ')}; all of them unless said.
              On a cluster of three nodes that this makes and ends, or on the one that REGENT_E2E_KUBECONFIG names
  --mode      how the cluster replicates
  clusters    one manager with so many clusters, whose agents are simulated; no nodes
  --runs      how often each is measured, 1 to 1000
  --restless  another Service changes all the time
  --router    a second client writes through the cluster's router, in the same runs
  --counts    how many clusters, 1 to 1000 each
  --json      every value goes there`

/** Throws what is wrong with the words and how they are to be. Nothing may have been started before. */
export function kubeBenchOf(words: readonly string[]): KubeBench {
  if (words.some((word) => word === '--help' || word === '-h')) return { what: 'usage' }
  try {
    return words[0] === 'clusters'
      ? { what: 'clusters', ...clustersOptionsOf(words.slice(1)) }
      : { what: 'cases', ...casesOptionsOf(words) }
  } catch (error) {
    throw new Error(`${describeError(error)}\n\n${kubeBenchUsage}`, { cause: error })
  }
}

export function clustersOptionsOf(words: readonly string[]): ClustersOptions {
  const { values } = parsed(words, {
    options: {
      counts: { type: 'string', default: '1,10,100,300' },
      runs: { type: 'string', default: '20' },
      json: { type: 'string', default: '.cache/bench-clusters.json' },
    },
  })
  const counts = values.counts.split(',').map((count) => numberIn('--counts', count))
  return { counts, runs: numberIn('--runs', values.runs), json: values.json }
}

export function casesOptionsOf(words: readonly string[]): CasesOptions {
  const { values, positionals } = parsed(words, {
    allowPositionals: true,
    options: {
      mode: { type: 'string', default: defaultMode },
      runs: { type: 'string', default: '20' },
      restless: { type: 'boolean', default: false },
      router: { type: 'boolean', default: false },
      json: { type: 'string', default: '.cache/bench-kube.json' },
    },
  })
  const { restless, router, json } = values
  const cases = positionals.length === 0 ? kubeCases : positionals.map(caseNamed)
  return { cases, mode: modeNamed(values.mode), runs: numberIn('--runs', values.runs), restless, router, json }
}

function parsed<const Config extends ParseArgsConfig>(words: readonly string[], config: Config) {
  return parseArgs({ ...config, args: [...words] })
}

function numberIn(option: string, text: string): number {
  try {
    return integerFrom(1, 1000)(text)
  } catch (error) {
    throw new Error(`${option}: "${text}" is no such number. ${describeError(error)}`, { cause: error })
  }
}

export function modeNamed(word: string): ModeName {
  const found = modes.find((one) => one === word)
  if (found === undefined) throw new Error(`--mode: "${word}" is no mode. Allowed is ${modes.join(', ')}.`)
  return found
}

function caseNamed(word: string): KubeCase {
  const found = kubeCases.find((one) => one === word)
  if (found === undefined) throw new Error(`"${word}" is no benchmark`)
  return found
}

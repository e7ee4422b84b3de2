import { parseArgs } from 'node:util'
import { integerFrom } from '#cli/terminal/arguments.ts'
import { defaultMode, type ModeName } from '#failover/protocol/mode-name.ts'
import { benchCases, type BenchCase } from './cases.ts'
import { modeNamed } from './kube-arguments.ts'

export const benchUsage = `npm run bench -- [${benchCases.join('|')} …] [--mode semisync|async|group] [--runs 20] [--instances 3] [--bare 5] [--router] [--sessions 4000] [--mysql-router] [--json FILE] [--into PAGE]
       npm run bench -- [kill freeze cut] --far [--no-ssh|--mha] [--runs 20]
       npm run bench -- backup [--gigabytes 1]
       npm run bench -- watching [--watched 500]`

export interface BenchOptions {
  readonly cases: readonly BenchCase[]
  readonly runs: number
  readonly instances: number
  readonly mode: ModeName
  /** Three servers of somebody else, reached by SQL and SSH, in mode async. */
  readonly far: boolean
  /** Nothing but SQL reaches them, and any loss is accepted. */
  readonly sqlOnly: boolean
  /** MHA fails over in turn with Regent. */
  readonly mha: boolean
  /** In mode `group`: runs of a group of the same settings without Regent, beside the others; 0 leaves them out. */
  readonly bare: number
  /** With a second writer that knows the router's address alone. */
  readonly router: boolean
  /** In case `router`: so many are idle at a time. */
  readonly sessions: number
  /** In case `router`: MySQL Router is measured beside. */
  readonly mysqlRouter: boolean
  readonly json: string | undefined
  /** A page whose measured part is replaced. */
  readonly into: string | undefined
  /** What backups are measured with alone; null where something else is measured. */
  readonly backupsOf: number | null
  /** How many instances are watched; null where something else is measured. */
  readonly watched: number | null
}

/** Throws what is wrong with the words, and how they are to be. */
export function benchOptionsOf(words: readonly string[]): BenchOptions {
  const { values, positionals } = parseArgs({
    args: [...words],
    allowPositionals: true,
    options: {
      runs: { type: 'string', default: '20' },
      instances: { type: 'string', default: '3' },
      mode: { type: 'string', default: defaultMode },
      far: { type: 'boolean', default: false },
      'no-ssh': { type: 'boolean', default: false },
      mha: { type: 'boolean', default: false },
      bare: { type: 'string', default: '5' },
      router: { type: 'boolean', default: false },
      sessions: { type: 'string', default: '4000' },
      'mysql-router': { type: 'boolean', default: false },
      json: { type: 'string' },
      into: { type: 'string' },
      gigabytes: { type: 'string', default: '1' },
      watched: { type: 'string', default: '500' },
    },
  })
  const { far, mha, router, json, into } = values
  const sqlOnly = values['no-ssh']
  refuseWhatDoesNotGoTogether({ far, sqlOnly, mha })
  const alone = positionals.length === 1 ? positionals[0] : undefined
  const isOfBackups = alone === 'backup'
  const named = isOfBackups || alone === 'watching' ? [] : positionals.map(caseNamed)
  return {
    ...{ cases: casesOf(named, { far, mha }), far, sqlOnly, mha, router, json, into },
    runs: integerFrom(1, 1000)(values.runs),
    instances: integerFrom(2, 9)(values.instances),
    sessions: integerFrom(1, 4_000)(values.sessions),
    mysqlRouter: values['mysql-router'],
    mode: far ? 'async' : modeNamed(values.mode),
    bare: integerFrom(0, 1000)(values.bare),
    backupsOf: isOfBackups ? integerFrom(1, 100)(values.gigabytes) : null,
    watched: alone === 'watching' ? integerFrom(5, 5_000)(values.watched) : null,
  }
}

function refuseWhatDoesNotGoTogether({ far, sqlOnly, mha }: Pick<BenchOptions, 'far' | 'sqlOnly' | 'mha'>): void {
  if (sqlOnly && !far) throw new Error(`--no-ssh goes with --far: ${benchUsage}`)
  if (mha && (!far || sqlOnly)) throw new Error(`--mha goes with --far, and not with --no-ssh: ${benchUsage}`)
}

function caseNamed(word: string): BenchCase {
  const found = benchCases.find((name) => name === word)
  if (found === undefined) throw new Error(`"${word}" is no benchmark: ${benchUsage}`)
  return found
}

function casesOf(named: readonly BenchCase[], { far, mha }: Pick<BenchOptions, 'far' | 'mha'>): readonly BenchCase[] {
  if (!far) return named.length === 0 ? benchCases : named
  const measured: readonly BenchCase[] = mha ? ['kill', 'freeze'] : ['kill', 'freeze', 'cut']
  if (named.some((name) => !measured.includes(name)))
    throw new Error(`${measured.join(', ')} alone are measured so: ${benchUsage}`)
  return named.length === 0 ? ['kill'] : named
}

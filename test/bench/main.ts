import { writeFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { defaultMode, type ModeName } from '#failover/protocol/mode-name.ts'
import { integerFrom } from '#cli/terminal/arguments.ts'
import { describeError } from '#common/errors/errors.ts'
import { findMysql } from '#local/packages/mysql-binaries.ts'
import { startCluster, type TestCluster } from '../support/cluster.ts'
import { diagnose } from '../support/diagnosis.ts'
import { Strangers } from '../support/strangers.ts'
import { measureBackups } from './backup.ts'
import { measureBareGroup } from './bare-group.ts'
import { benchCases, eventOf, runCase, type BenchCase } from './cases.ts'
import { modeNamed } from './kube-arguments.ts'
import { measureLifecycle } from './lifecycle.ts'
import { describeMachine } from './machine.ts'
import { markdownTable, measuredParts, replaceMeasured, type MeasuredPart } from './measured-page.ts'
import { measureRouterCost } from './routed.ts'
import { asJson, headOf, lostIn, rowsOf, tableOf, type CaseResult } from './report.ts'
import { measureSqlOnly } from './sql-only.ts'
import { measureWatching } from './watching.ts'

const usage = `npm run bench -- [${benchCases.join('|')} …] [--mode semisync|async|group] [--runs 20] [--instances 3] [--bare 5] [--router] [--json FILE] [--into PAGE]
       npm run bench -- kill --far [--no-ssh] [--runs 20]
       npm run bench -- backup [--gigabytes 1]
       npm run bench -- watching [--watched 500]`

interface BenchOptions {
  readonly cases: readonly BenchCase[]
  readonly runs: number
  readonly instances: number
  readonly mode: ModeName
  /** Three servers of somebody else, reached by SQL and SSH, in mode async. */
  readonly far: boolean
  /** Nothing but SQL reaches them, and any loss is accepted. */
  readonly sqlOnly: boolean
  /** In mode `group`: runs of a group of the same settings without Regent, beside the others; 0 leaves them out. */
  readonly bare: number
  /** With a second writer that knows the router's address alone. */
  readonly router: boolean
  readonly json: string | undefined
  /** A page whose measured part is replaced. */
  readonly into: string | undefined
  /** What backups are measured with alone; null where something else is measured. */
  readonly backupsOf: number | null
  /** How many instances are watched; null where something else is measured. */
  readonly watched: number | null
}

function readOptions(): BenchOptions {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      runs: { type: 'string', default: '20' },
      instances: { type: 'string', default: '3' },
      mode: { type: 'string', default: defaultMode },
      far: { type: 'boolean', default: false },
      'no-ssh': { type: 'boolean', default: false },
      bare: { type: 'string', default: '5' },
      router: { type: 'boolean', default: false },
      json: { type: 'string' },
      into: { type: 'string' },
      gigabytes: { type: 'string', default: '1' },
      watched: { type: 'string', default: '500' },
    },
  })
  if (values['no-ssh'] && !values.far) throw new Error(`--no-ssh goes with --far: ${usage}`)
  const alone = positionals.length === 1 ? positionals[0] : undefined
  const isOfBackups = alone === 'backup'
  const cases = (isOfBackups || alone === 'watching' ? [] : positionals).map((word) => {
    const found = benchCases.find((name) => name === word)
    if (found === undefined) throw new Error(`"${word}" is no benchmark: ${usage}`)
    return found
  })
  return {
    cases: casesOf(cases, values.far),
    far: values.far,
    sqlOnly: values['no-ssh'],
    runs: integerFrom(1, 1000)(values.runs),
    instances: integerFrom(2, 9)(values.instances),
    mode: values.far ? 'async' : modeNamed(values.mode),
    bare: integerFrom(0, 1000)(values.bare),
    router: values.router,
    json: values.json,
    into: values.into,
    backupsOf: isOfBackups ? integerFrom(1, 100)(values.gigabytes) : null,
    watched: alone === 'watching' ? integerFrom(5, 5_000)(values.watched) : null,
  }
}

function casesOf(named: readonly BenchCase[], far: boolean): readonly BenchCase[] {
  if (!far) return named.length === 0 ? benchCases : named
  if (named.some((name) => name !== 'kill')) throw new Error(`only kill is measured far: ${usage}`)
  return ['kill']
}

const told = (line: string) => process.stderr.write(`  ${line}\n`)

async function bench(options: BenchOptions): Promise<void> {
  const { cases, instances, mode, json, into, backupsOf, watched, far } = options
  const machine = describeMachine((await findMysql()).version, 'loopback')
  if (backupsOf !== null) {
    console.log(`${machine}\n`)
    return measureBackups(backupsOf, told)
  }
  if (watched !== null) {
    console.log(`${machine}\n`)
    return measureWatching(watched, told)
  }
  console.log(
    `${machine}\nmode ${mode}${far ? ', far agents' : ''}, ${instances} instances, one client that writes a new id every 10 ms\n`,
  )
  const results: (CaseResult & { readonly of: MeasuredPart })[] = []
  for (const name of cases) {
    const measured = await measure(name, options)
    results.push(...measured.map((result) => ({ ...result, of: partOf(name) })))
    for (const result of measured) console.log(tableOf(result))
  }
  if (json !== undefined)
    await writeFile(
      json,
      `${JSON.stringify({ machine, mode, instances, at: new Date().toISOString(), cases: results.map(asJson) }, null, 2)}\n`,
    )
  if (into === undefined) return
  for (const part of measuredParts) {
    const tables = results
      .filter(({ of }) => of === part)
      .map((result) => markdownTable(headOf(result), rowsOf(result), lostIn(result)))
    if (tables.length > 0) await replaceMeasured(into, part, [`${machine}.`, ...tables])
  }
}

/** Each case has a cluster of its own, so that none inherits another's history. */
async function measure(name: BenchCase, options: BenchOptions): Promise<readonly CaseResult[]> {
  const { runs, instances, mode, bare } = options
  if (options.far) return options.sqlOnly ? [await measureSqlOnly(runs, told)] : onStrangers(name, runs)
  const measured = await onItsOwnCluster(name, options)
  if (name === 'agent') return [...measured, ...(await measureLifecycle(runs, told))]
  if (mode !== 'group' || bare === 0) return measured
  const event = name === 'servers' ? 'switchover at the servers' : eventOf(name)
  return [...measured, await measureBareGroup({ name: measured[0]?.name ?? name, event, runs: bare, instances, told })]
}

/** What agents take has a part of its own in a page: it is measured more often, and in other hours. */
function partOf(name: BenchCase): MeasuredPart {
  return name === 'agent' ? 'measured agents' : 'measured'
}

async function onItsOwnCluster(
  name: BenchCase,
  { runs, instances, mode, router }: Pick<BenchOptions, 'runs' | 'instances' | 'mode' | 'router'>,
): Promise<readonly CaseResult[]> {
  const cluster = await startCluster({ name: 'bench', instances, spec: { mode }, flags: router ? ['--router'] : [] })
  try {
    await cluster.whole(instances)
    const measured = await runCase(cluster, name, { runs, told, router })
    return router ? [...measured, await measureRouterCost(cluster)] : measured
  } catch (error) {
    process.stderr.write(`${(await diagnose(cluster)).join('\n')}\n`)
    throw error
  } finally {
    await cluster.down()
  }
}

async function onStrangers(name: BenchCase, runs: number): Promise<readonly CaseResult[]> {
  const strangers = await Strangers.start()
  let cluster: TestCluster | undefined
  try {
    cluster = await strangers.manage()
    await cluster.whole()
    return (await runCase(cluster, name, { runs, told, router: false })).map((result) => ({
      ...result,
      name: `${result.name}, far agents`,
    }))
  } finally {
    await cluster?.letGo()
    await strangers.end()
  }
}

try {
  await bench(readOptions())
} catch (error) {
  console.error(describeError(error))
  process.exitCode = 1
}

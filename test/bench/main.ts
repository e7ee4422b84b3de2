import { writeFile } from 'node:fs/promises'
import { describeError } from '#common/errors/errors.ts'
import { findMysql } from '#local/packages/mysql-binaries.ts'
import { startCluster } from '../support/cluster.ts'
import { diagnose } from '../support/diagnosis.ts'
import { measureBackups } from './backup.ts'
import { measureBareGroup } from './bare-group.ts'
import { benchOptionsOf, type BenchOptions } from './bench-arguments.ts'
import { eventOf, runCase, type BenchCase } from './cases.ts'
import { measureCut } from './cut.ts'
import { measureFar } from './far.ts'
import { measureLifecycle } from './lifecycle.ts'
import { describeMachine } from './machine.ts'
import { markdownTable, measuredParts, replaceMeasured, type MeasuredPart } from './measured-page.ts'
import { MhaRuns } from './mha-runs.ts'
import { measureStatements, waysTo } from './routed.ts'
import { measureRouter } from './router.ts'
import { asJson, headOf, lostIn, rowsOf, tableOf, type CaseResult } from './report.ts'
import { measureFarWithLoss } from './far-with-loss.ts'
import { measureWatching } from './watching.ts'

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
  if (options.far) return farOf(name, options)
  if (name === 'cut') return cutOf(options)
  const measured = await onItsOwnCluster(name, options)
  return [...measured, ...(await beside(name, measured, options))]
}

/** What is measured without Regent, to compare. */
async function beside(
  name: Exclude<BenchCase, 'cut'>,
  [first]: readonly CaseResult[],
  { runs, instances, mode, bare }: BenchOptions,
): Promise<readonly CaseResult[]> {
  if (name === 'router' || name === 'outage') return []
  if (name === 'agent') return measureLifecycle(runs, told)
  if (mode !== 'group' || bare === 0) return []
  const event = name === 'servers' ? 'switchover at the servers' : eventOf(name)
  return [await measureBareGroup({ name: first?.name ?? name, event, runs: bare, instances, told })]
}

/** What agents take has a part of its own in a page: it is measured more often, and in other hours. */
function partOf(name: BenchCase): MeasuredPart {
  return name === 'agent' ? 'measured agents' : 'measured'
}

async function onItsOwnCluster(
  name: BenchCase,
  { runs, instances, mode, router: isRouted, sessions, mysqlRouter }: BenchOptions,
): Promise<readonly CaseResult[]> {
  const router = isRouted || name === 'router'
  const cluster = await startCluster({ name: 'bench', instances, spec: { mode }, flags: router ? ['--router'] : [] })
  try {
    await cluster.whole(instances)
    if (name === 'router') return await measureRouter(cluster, { runs, sessions, mysqlRouter, told })
    const measured = await runCase(cluster, name, { runs, told, router })
    return router ? [...measured, await measureStatements(await waysTo(cluster))] : measured
  } catch (error) {
    process.stderr.write(`${(await diagnose(cluster)).join('\n')}\n`)
    throw error
  } finally {
    await cluster.down()
  }
}

/** Where no machine can be cut off a sentence says so, and there are no rows. */
async function cutOf(options: BenchOptions): Promise<readonly CaseResult[]> {
  const measured = await measureCut({ ...options, told })
  if (typeof measured !== 'string') return measured
  console.log(`${measured}.`)
  return []
}

/** Where MHA cannot be had a sentence says so, and its rows are left out. */
async function farOf(name: BenchCase, { runs, sqlOnly, mha }: BenchOptions): Promise<readonly CaseResult[]> {
  const event = name === 'freeze' || name === 'cut' ? name : 'kill'
  if (sqlOnly || event === 'cut') return [await measureFarWithLoss({ event, sqlOnly, runs, told })]
  const of = { event, runs, told } as const
  const beside = mha ? await MhaRuns.prepare(of) : undefined
  if (typeof beside !== 'string') return measureFar(of, beside)
  console.log(`${beside}.`)
  return measureFar(of)
}

try {
  await bench(benchOptionsOf(process.argv.slice(2)))
} catch (error) {
  console.error(describeError(error))
  process.exitCode = 1
}

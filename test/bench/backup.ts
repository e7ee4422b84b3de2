import { mkdir, mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Manifest } from '#backup/objects/manifest.ts'
import { openBackupStore } from '#backup/transfer/open-backup-store.ts'
import { backupsOf, readManifest } from '#backup/transfer/stored-manifests.ts'
import { renderTable } from '#cli/terminal/table.ts'
import { runCommand } from '#common/process/run-command.ts'
import { readSpec, writeSpec } from '#local/folder/spec-file.ts'
import { findMysql } from '#local/packages/mysql-binaries.ts'
import { runRegent, startCluster, TestCluster } from '../support/cluster.ts'
import { freePort } from '../support/free-port.ts'
import { monotonicMs } from '../support/monotonic.ts'
import { stopWriters, Writer } from '../support/writer.ts'
import { mostMemoryWhile } from './agent-memory.ts'
import { distributionOf } from './distribution.ts'
import { Stages, stagesOfBackup, type Stage } from './stages.ts'

const mebibyte = 1_048_576
const deadlineMs = 3_600_000
const windowMs = 20_000
/** Rows of one kilobyte, half of which zstd can spare: as much as one statement makes. */
const rowsAtOnce = 8_000
const columns = ['', 'seconds', 'MB/s', 'of cp'] as const

type Told = (line: string) => void

/**
 * What a backup and a restore cost beside `cp` and `mysqldump` of the same data, and what a commit takes meanwhile; all
 * in one run, so that only the ratios are compared.
 */
export async function measureBackups(gigabytes: number, told: Told): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'regent-bench-backup-'))
  const address = join(folder, 'store')
  await mkdir(address)
  const backup = { store: { address }, schedule: null, rehearsal: { schedule: null }, archive: { everySeconds: 0 } }
  try {
    const cluster = await startCluster({ name: 'bench', instances: 3, spec: { backup } })
    try {
      await cluster.whole(3, deadlineMs)
      await load(cluster, gigabytes, told)
      const commits = await commitTimes(cluster, { folder, address }, told)
      const rates = await rateOfEach(cluster, { folder, address }, told)
      print(rates, commits)
    } finally {
      await stopWriters()
      await cluster.down()
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function load(cluster: TestCluster, gigabytes: number, told: Told): Promise<void> {
  const primary = await cluster.primary()
  await cluster.sql(primary, 'create table app.filled (id bigint auto_increment primary key, body varchar(1100))')
  await cluster.sql(primary, `set session cte_max_recursion_depth = ${rowsAtOnce + 1}`)
  const times = Math.ceil((gigabytes * 1024 * mebibyte) / (rowsAtOnce * 1_024))
  const rows = `with recursive n (i) as (select 1 union all select i + 1 from n where i < ${rowsAtOnce})`
  for (let at = 0; at < times; at += 1) {
    await cluster.sql(primary, `insert into app.filled (body) ${rows} select hex(random_bytes(512)) from n`, {
      deadlineMs,
    })
    if (at % 32 === 31) told(`${Math.round(((at + 1) * rowsAtOnce) / 1_024)} MiB of rows are in`)
  }
}

interface Commits {
  readonly what: string
  readonly ms: readonly number[]
  readonly perSecond: number
}

/** Where the copies of a run lie. */
interface Places {
  readonly folder: string
  readonly address: string
}

/** Of one writer that commits one row after the other. */
async function commitTimes(cluster: TestCluster, places: Places, told: Told): Promise<readonly Commits[]> {
  const writer = await Writer.start(cluster, { everyMs: 0 })
  const between = (what: string, fromMs: number, toMs: number): Commits => {
    const writes = writer.begunSince(fromMs).filter(({ beganMs, ackedMs }) => beganMs < toMs && ackedMs > 0)
    const ms = writes.map(({ beganMs, ackedMs }) => ackedMs - beganMs)
    return { what, ms, perSecond: (writes.length * 1_000) / (toMs - fromMs) }
  }
  const commits: Commits[] = []
  const during = async (what: string, enough: () => Promise<unknown>): Promise<void> => {
    told(`commits, ${what}`)
    const fromMs = monotonicMs()
    const most = await mostMemoryWhile(cluster, enough)
    told(`the agents took at most ${most.map((mb) => mb.toFixed(0)).join(', ')} MB, the primary's first`)
    commits.push(between(what, fromMs, monotonicMs()))
  }
  await during('nothing else', () => sleep(windowMs))
  await archiveEvery(cluster, 5)
  await during('with the archive', () => sleep(windowMs))
  await archiveEvery(cluster, 0)
  await during('nothing else, again', () => sleep(windowMs))
  await during('while `cp` and sync run', () => copyOf(cluster, places))
  await rm(join(places.folder, 'copied'), { recursive: true })
  await sleep(windowMs)
  await during('while a backup runs', () => backUp(cluster))
  const { startedAtMs, endedAtMs, storedAtMs } = await newest(places.address)
  const wallMs = Date.now() - monotonicMs()
  commits.push(between('… and CLONE copies', startedAtMs - wallMs, endedAtMs - wallMs))
  commits.push(between('… and the copy is sent', endedAtMs - wallMs, storedAtMs - wallMs))
  await stopWriters()
  return commits
}

/** Manager and agents take the spec as it is then. */
async function archiveEvery(cluster: TestCluster, everySeconds: number): Promise<void> {
  const spec = await readSpec(cluster.layout, cluster.name)
  if (spec.backup === undefined) throw new Error('the spec has lost its store of backups')
  await writeSpec(cluster.layout, { ...spec, backup: { ...spec.backup, archive: { everySeconds } } })
  await cluster.replaceManager()
  await sleep(10_000)
}

async function backUp(cluster: TestCluster): Promise<void> {
  await succeed(cluster.home, ['backup', 'now', cluster.name])
}

/** The data of a replica by the system's own means, synced. Gives the bytes. */
async function copyOf(cluster: TestCluster, { folder }: Places): Promise<number> {
  const [replica = ''] = await cluster.replicas()
  const copied = join(folder, 'copied')
  await command(['cp', '-r', dirname(await dataFile(cluster, replica)), copied])
  await command(['sync', '-f', copied])
  return bytesBelow(copied)
}

async function succeed(home: string, words: readonly string[]): Promise<readonly Stage[]> {
  const stages = new Stages()
  const ran = await runRegent(home, words, { deadlineMs, progress: (line) => stages.see(line) })
  if (ran.code !== 0) throw new Error(`regent ${words.join(' ')}: ${ran.stderr}`)
  return stages.end()
}

interface Rate {
  readonly what: string
  readonly ms: number
  readonly bytes: number
}

async function rateOfEach(cluster: TestCluster, places: Places, told: Told): Promise<readonly Rate[]> {
  const { folder, address } = places
  const rates: Rate[] = []
  const timed = async (what: string, work: () => Promise<number | void>) => {
    told(what)
    const fromMs = monotonicMs()
    const bytes = await work()
    const ms = monotonicMs() - fromMs
    rates.push({ what, ms, bytes: bytes ?? (await newest(address)).rawBytes })
  }
  const fromMs = Date.now()
  await timed('backup', () => backUp(cluster))
  const stages = { backup: stagesOfBackup(await newest(address), { fromMs, toMs: Date.now() }) }
  for (const each of stages.backup) told(lineOf(each))
  await timed('cp and sync', () => copyOf(cluster, places))
  await rm(join(folder, 'copied'), { recursive: true })
  const [replica = ''] = await cluster.replicas()
  await timed('mysqldump', () => dump(cluster, replica, join(folder, 'dump.sql')))
  await rm(join(folder, 'dump.sql'), { force: true })
  await cluster.regent('local', 'down', cluster.name)
  const home = await mkdtemp(join(tmpdir(), 'regent-'))
  const words = ['--cluster', cluster.name, '--from', address, '--instances', '1', '--port', String(await freePort())]
  await timed('restore, until writes are taken', async () => {
    for (const each of await succeed(home, ['restore', 'again', ...words])) told(lineOf(each))
  })
  await (await TestCluster.at(home, 'again')).down()
  await cluster.upAgain()
  return rates
}

const lineOf = ({ what, ms }: Stage): string => `${(ms / 1_000).toFixed(1).padStart(7)} s  ${what}`

async function newest(address: string): Promise<Manifest> {
  const store = await openBackupStore({ address })
  const name = (await backupsOf(store, 'bench')).at(-1)
  if (name === undefined) throw new Error('no backup is there')
  return readManifest(store, 'bench', name)
}

/** `ibdata1` of an instance. */
async function dataFile(cluster: TestCluster, instance: string): Promise<string> {
  return join(await cluster.value(instance, 'select @@datadir'), 'ibdata1')
}

async function bytesBelow(folder: string): Promise<number> {
  return Number((await command(['du', '-sb', folder])).split('\t')[0])
}

async function dump(cluster: TestCluster, instance: string, into: string): Promise<void> {
  const { mysql } = await findMysql()
  const { user, password } = await cluster.login('admin')
  const { host, port } = await cluster.instance(instance)
  const program = mysql.map((word) => word.replace(/mysql$/, 'mysqldump'))
  const login = [`--host=${host}`, `--port=${port}`, `--user=${user}`, `--result-file=${into}`]
  await command([...program, '--no-defaults', ...login, '--single-transaction', '--databases', 'app'], {
    MYSQL_PWD: password,
  })
  await stat(into)
  await command(['sync', into])
}

async function command(words: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<string> {
  const { ok, stdout, failure } = await runCommand(words, { env: { ...process.env, ...env }, deadlineMs })
  if (!ok) throw new Error(`${words[0]}: ${failure}`)
  return stdout
}

function print(rates: readonly Rate[], commits: readonly Commits[]): void {
  const perSecond = ({ bytes, ms }: Rate) => (bytes / 1e6 / ms) * 1_000
  const cp = rates.find(({ what }) => what.startsWith('cp'))
  const rows = rates.map((rate) => [
    rate.what,
    (rate.ms / 1_000).toFixed(1),
    perSecond(rate).toFixed(0),
    cp === undefined ? '' : `${Math.round((perSecond(rate) * 100) / perSecond(cp))} %`,
  ])
  for (const line of renderTable([...columns], rows)) console.log(line)
  console.log('')
  const head = ['commits of one writer', 'a second', 'p50 ms', 'p95 ms', 'p99 ms']
  for (const line of renderTable(head, commits.map(rowOf))) console.log(line)
}

function rowOf({ what, ms, perSecond }: Commits): readonly string[] {
  const sorted = ms.toSorted((one, other) => one - other)
  const p99 = sorted[Math.max(0, Math.ceil(sorted.length * 0.99) - 1)] ?? NaN
  const found = distributionOf(ms)
  return [
    what,
    perSecond.toFixed(0),
    ...[found?.median ?? NaN, found?.p95 ?? NaN, p99].map((value) => value.toFixed(1)),
  ]
}

import { spawn, type StdioOptions } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { constants } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { volumeLayout } from '#agents/instance/volume-layout.ts'
import { described, RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import type { FoundCluster } from '#local/clusters/cluster-index.ts'
import type { LocalInstance } from '#local/folder/cluster-file.ts'
import { replaceFile } from '#local/files/durable-file.ts'
import { firstExecutable } from '#local/packages/executables.ts'
import { readRoute } from '#local/platform/routes.ts'
import { adminUser, passwordOf } from '#local/folder/secrets.ts'
import { layoutOf } from '#local/folder/state-layout.ts'
import { localStatus } from '../show/status.ts'

/** The programs of MySQL that are run for a person. */
export type ClientProgram = 'mysql' | 'mysqldump'

/**
 * The instance named, else the one that is published as primary, or of which the manager says so where nothing sound is
 * published.
 */
export async function instanceFor(found: FoundCluster, on: string | undefined): Promise<LocalInstance> {
  const { cluster, dir } = found
  const names = cluster.instances.map((one) => one.name)
  const wanted =
    on ?? (await readRoute(layoutOf(dir).routes).catch(() => undefined))?.instance ?? (await primaryOf(found))
  const instance = cluster.instances.find((one) => one.name === wanted)
  if (instance !== undefined) return instance
  if (on === undefined)
    throw new RegentError(
      'REGENT_REFUSED',
      say`no primary of ${cluster.name} is published; name an instance with --on: ${names.join(', ')}`,
    )
  throw new RegentError(
    'REGENT_NOT_FOUND',
    say`cluster ${cluster.name} has no instance "${on}"; it has ${names.join(', ')}`,
  )
}

async function primaryOf(found: FoundCluster): Promise<string | undefined> {
  return (await localStatus(found)).instances.find(({ role }) => role === 'primary')?.name
}

/** A command to end, and a terminal that was closed. */
const endings = ['SIGTERM', 'SIGHUP'] as const
const numbers = constants.signals

export interface ClientRun {
  readonly program: ClientProgram
  readonly parameters: readonly string[]
  readonly stdio: StdioOptions
  /** What it reads, where `stdio` pipes that to it. */
  readonly input?: AsyncIterable<Buffer>
}

/**
 * Runs a client of MySQL as `admin` at an instance, through the Unix socket on its volume: another server that has the
 * same address and port is never logged in to. The password goes through a 0600 file that is removed when the client
 * ends: what is in argv can be read by everybody. Resolves to the client's exit code and what it printed where `stdio`
 * pipes it.
 */
export async function runClient(
  found: FoundCluster,
  instance: LocalInstance,
  run: ClientRun,
): Promise<{ readonly code: number; readonly output: string }> {
  const layout = layoutOf(found.dir)
  const folder = await mkdtemp(join(layout.run, 'sql-'))
  try {
    const options = join(folder, 'client.cnf')
    const { socket } = volumeLayout(instance.volume)
    await replaceFile(
      options,
      `[client]\nuser=${adminUser}\npassword="${await passwordOf(layout, adminUser)}"\nprotocol=socket\nsocket="${socket}"\n`,
    )
    const [program = '', ...rest] = await commandFor(found, run.program)
    return await untilEnd([program, ...rest, `--defaults-file=${options}`, ...run.parameters], run)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** mysqldump lies beside the mysql that the cluster knows, in every package and archive of MySQL. */
async function commandFor({ cluster }: FoundCluster, program: ClientProgram): Promise<readonly string[]> {
  const { mysql } = cluster.mysql
  if (mysql.length === 0)
    throw new RegentError(
      'REGENT_REFUSED',
      say`the servers of ${cluster.name} are somewhere else, and Regent has no client for them: use MySQL’s own, with an account of yours`,
      { remedy: '' },
    )
  const known = mysql.at(-1) ?? ''
  if (program === 'mysql') return mysql
  const path = join(dirname(known), 'mysqldump')
  if (basename(known) !== 'mysql' || (await firstExecutable([path])) === undefined)
    throw new RegentError(
      'REGENT_MYSQL_MISSING',
      say`there is no mysqldump beside ${known}, the mysql of ${cluster.name}; install the client programs of the same MySQL there`,
    )
  return [...mysql.slice(0, -1), path]
}

/**
 * Ctrl-C is the client's to answer. What would end this process ends the client, after which the file with the
 * password is removed.
 */
async function untilEnd(
  [program = '', ...parameters]: readonly string[],
  { stdio, input }: Pick<ClientRun, 'stdio' | 'input'>,
): Promise<{ readonly code: number; readonly output: string }> {
  const client = spawn(program, parameters, { stdio })
  let endedBy: NodeJS.Signals | undefined
  const end = (signal: NodeJS.Signals): void => void client.kill((endedBy = signal))
  const ignore = () => undefined
  process.on('SIGINT', ignore)
  for (const signal of endings) process.on(signal, end)
  try {
    return await new Promise((resolve, reject) => {
      let output = ''
      client.stdout?.setEncoding('utf8').on('data', (part: string) => (output += part))
      client.once('error', (error) =>
        reject(
          new RegentError('REGENT_REFUSED', say`the client ${program} cannot be started: ${described(error)}`, {
            cause: error,
          }),
        ),
      )
      client.once('close', (code) => resolve({ code: endedBy ? 128 + numbers[endedBy] : code === 0 ? 0 : 1, output }))
      // A client that ends before its input says why.
      if (input && client.stdin)
        pipeline(input, client.stdin).catch((error: NodeJS.ErrnoException) => {
          if (error.code !== 'EPIPE' && error.code !== 'ERR_STREAM_PREMATURE_CLOSE') reject(error)
        })
    })
  } finally {
    process.off('SIGINT', ignore)
    for (const signal of endings) process.off(signal, end)
  }
}

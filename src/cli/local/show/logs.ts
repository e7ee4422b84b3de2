import { open, stat } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { prettyFactory } from 'pino-pretty'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { allClusters, findCluster, type FoundCluster } from '#local/clusters/cluster-index.ts'
import { isMissing } from '#local/files/input-file.ts'
import { lastLines } from '#local/logs/log-tail.ts'
import { agentProcess } from '#local/processes/process-book.ts'
import { processNames } from '#local/supervisor/supervisor.ts'
import { layoutOf, logPath } from '#local/folder/state-layout.ts'
import type { OutputOptions } from '#cli/terminal/common-options.ts'
import type { Io } from '#cli/terminal/io.ts'

export interface LogsOptions extends OutputOptions {
  readonly follow?: true
  readonly lines: number
}

const lookEveryMs = 250
/** Logs that each cluster may have; the others are called as instances are. */
const ofAnyCluster = ['manager', 'supervisor', 'router', 'remote-agents']

/** Prints the end of the logs, oldest line first over all of them, and with --follow what is written after. */
export async function logs(
  io: Io,
  first: string | undefined,
  second: string | undefined,
  options: LogsOptions,
): Promise<void> {
  const { found, processes } = await whichLogs(first, second)
  const format = formatter(io, options)
  const paths = processes.map((process) => logPath(layoutOf(found.dir), process))
  const ends = await Promise.all(paths.map(sizeOf))
  for (const line of inOrder(await Promise.all(paths.map((path) => lastLines(path, options.lines)))))
    io.out(format(line))
  if (options.follow !== true) return
  await Promise.all(paths.map((path, at) => follow(io, path, ends[at] ?? 0, (line) => io.out(format(line)))))
}

/** `logs`, `logs demo`, `logs demo demo-1`, `logs demo-1`, `logs demo manager`. */
async function whichLogs(
  first: string | undefined,
  second: string | undefined,
): Promise<{ found: FoundCluster; processes: readonly string[] }> {
  const isName =
    first === undefined ||
    second !== undefined ||
    (await allClusters(() => undefined)).some((one) => one.cluster.name === first)
  const process = isName ? second : first
  const found = await findCluster(isName ? first : clusterOf(process))
  const { cluster } = found
  const logged = ['supervisor', ...processNames(cluster)]
  if (process === undefined) return { found, processes: logged }
  const isInstance = cluster.instances.some(({ name }) => name === process)
  const asked = isInstance ? agentProcess(cluster, process) : process
  if (!logged.includes(asked))
    throw new RegentError(
      'REGENT_NOT_FOUND',
      say`cluster ${cluster.name} has no process "${process.slice(0, 60)}"; it has ${logged.join(', ')}`,
    )
  return { found, processes: [asked] }
}

function clusterOf(process: string | undefined): string | undefined {
  return process === undefined || ofAnyCluster.includes(process) ? undefined : process.replace(/-\d{1,2}$/, '')
}

function formatter(io: Io, options: LogsOptions): (line: string) => string {
  if (options.output === 'json' || !io.terminal) return (line) => line
  const pretty = prettyFactory({ colorize: io.colour, ignore: 'pid,hostname', translateTime: 'SYS:HH:MM:ss.l' })
  return (line) => String(pretty(line)).replace(/\n$/, '')
}

/** The lines of several logs by their time; a line without one (a crash) stays behind the line before it. */
export function inOrder(logs: readonly (readonly string[])[]): readonly string[] {
  const timed = logs.flatMap((lines) => {
    let time = ''
    return lines.map((line) => ({ line, time: (time = /"time":"([^"]+)"/.exec(line)?.[1] ?? time) }))
  })
  return timed
    .sort((one, other) => (one.time < other.time ? -1 : one.time > other.time ? 1 : 0))
    .map((entry) => entry.line)
}

/** A log that became shorter was put aside: its new content is read from the beginning. */
async function follow(io: Io, path: string, from: number, print: (line: string) => void): Promise<void> {
  const interrupted = io.interrupted()
  let [at, rest] = [from, '']
  while (!interrupted.aborted) {
    const size = await sizeOf(path)
    if (size < at) [at, rest] = [0, '']
    if (size > at) {
      const text = rest + (await readPart(path, at, size))
      const lines = text.split('\n')
      rest = lines.pop() ?? ''
      at = size
      lines.forEach(print)
    }
    await sleep(lookEveryMs, undefined, { signal: interrupted }).catch(() => undefined)
  }
}

async function readPart(path: string, from: number, to: number): Promise<string> {
  await using file = await open(path, 'r')
  const buffer = Buffer.alloc(to - from)
  await file.read(buffer, 0, buffer.length, from)
  return buffer.toString('utf8')
}

async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size
  } catch (error) {
    if (isMissing(error)) return 0
    throw error
  }
}

import { mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Type, type Static } from 'typebox'
import { Value } from 'typebox/value'
import type { ProcessIdentity } from '#common/process/process-stat.ts'
import { replaceJson } from '../files/durable-file.ts'
import { isMissing, readJsonIfThere } from '../files/input-file.ts'
import { mysqldPidPath, type StateLayout } from '../folder/state-layout.ts'
import type { LocalCluster } from '../folder/cluster-file.ts'
import { say } from '#common/sentence/sentence.ts'

const identitySchema = Type.Object({ pid: Type.Integer({ minimum: 1 }), startTicks: Type.Integer({ minimum: 0 }) })
const bookSchema = Type.Object({
  version: Type.Literal(1),
  supervisor: Type.Union([identitySchema, Type.Null()]),
  processes: Type.Record(Type.String(), identitySchema),
})

/**
 * What the supervisor wrote down of what it runs: itself, `manager`, and each agent under its instance's name, or all
 * agents under `remote-agents`.
 */
export type ProcessBook = Static<typeof bookSchema>

/** In the book: all agents of a cluster whose servers are somewhere else. */
export const remoteAgentsProcess = 'remote-agents'

const emptyBook: ProcessBook = { version: 1, supervisor: null, processes: {} }

/** The process of an instance's agent: one process has all agents of a cluster whose servers are somewhere else. */
export function agentIn(
  { processes }: ProcessBook,
  cluster: { readonly far?: true },
  instance: string,
): ProcessIdentity | undefined {
  return processes[agentProcess(cluster, instance)]
}

/** How that process is called, in the book and by the name of its log. */
export function agentProcess({ far }: { readonly far?: true }, instance: string): string {
  return far === true ? remoteAgentsProcess : instance
}

/** The processes with the agents of a cluster. */
export function agentProcesses(cluster: Pick<LocalCluster, 'far' | 'instances'>): readonly string[] {
  return [...new Set(cluster.instances.map(({ name }) => agentProcess(cluster, name)))]
}

/** A book that is missing or damaged is an empty one: it only saves looking for processes. */
export async function readBook(layout: StateLayout): Promise<ProcessBook> {
  const value = await readJsonIfThere(layout.pids, say`the list of processes`).catch(() => undefined)
  return Value.Check(bookSchema, value) ? value : emptyBook
}

export async function writeBook(layout: StateLayout, book: ProcessBook): Promise<void> {
  await replaceJson(layout.pids, book)
}

/** Which mysqld is this instance's, as its agent wrote it down; undefined where none was ever started. */
export async function mysqldOf(volume: string): Promise<ProcessIdentity | undefined> {
  const value = await readJsonIfThere(mysqldPidPath(volume), say`the note of the running mysqld`).catch(() => undefined)
  return Value.Check(identitySchema, value) ? { pid: value.pid, startTicks: value.startTicks } : undefined
}

/** Marks a process as stopped on purpose: no supervisor starts it again until the mark is gone. */
export async function markStopped(layout: StateLayout, process: string): Promise<void> {
  await mkdir(layout.stopped, { recursive: true, mode: 0o700 })
  await writeFile(join(layout.stopped, process), '', { mode: 0o600 })
}

export async function unmarkStopped(layout: StateLayout, process: string): Promise<void> {
  await rm(join(layout.stopped, process), { force: true })
}

export async function stoppedProcesses(layout: StateLayout): Promise<ReadonlySet<string>> {
  try {
    return new Set(await readdir(layout.stopped))
  } catch (error) {
    if (isMissing(error)) return new Set()
    throw error
  }
}

import { readdir, readFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { readProcessStat, type ProcessIdentity } from '#common/process/process-stat.ts'

/** What a process of a local cluster does there. */
export type ProcessKind = 'supervisor' | 'manager' | 'agent' | 'mysqld'

/** A process of a local cluster, found by its command line. */
export interface ClusterProcess {
  readonly kind: ProcessKind
  /** The cluster's folder, which may be gone. */
  readonly dir: string
  /** The instance; undefined for supervisor and manager, and for the process that has all agents. */
  readonly instance: string | undefined
  readonly identity: ProcessIdentity
}

/**
 * Every process of local clusters on this machine that this user may end, by its command line: what the list of
 * processes in a cluster's folder would say, where that list or the whole folder was removed under processes that run.
 */
export async function clusterProcesses(): Promise<readonly ClusterProcess[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number)
  const found = await Promise.all(pids.map(look))
  return found.flatMap((one) => one ?? [])
}

/** The processes of one cluster's folder. */
export async function processesOf(dir: string): Promise<readonly ClusterProcess[]> {
  return (await clusterProcesses()).filter((one) => one.dir === dir)
}

async function look(pid: number): Promise<ClusterProcess | undefined> {
  const stat = readProcessStat(pid)
  if (stat === undefined || stat.state === 'Z') return undefined
  // Gone in between, or another user's.
  const text = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
  const place = placeOf(text.split('\0').slice(0, -1))
  return place && { ...place, identity: { pid, startTicks: stat.startTicks } }
}

const ofWholeCluster: Readonly<Record<string, ProcessKind>> = { manager: 'manager', 'remote-agents': 'agent' }

/**
 * Whose command line this is: the exact ones with which supervisor, manager, agent and mysqld are started, and nothing
 * that only names a folder.
 */
export function placeOf(argv: readonly string[]): Omit<ClusterProcess, 'identity'> | undefined {
  const [verb, word, path = ''] = argv.slice(-3)
  if (verb === 'local' && word === 'supervise') return { kind: 'supervisor', dir: path, instance: undefined }
  const kind = word === '--cluster-dir' ? ofWholeCluster[verb ?? ''] : undefined
  if (kind !== undefined) return { kind, dir: path, instance: undefined }
  if (verb === 'agent' && word === '--config' && basename(path) === 'agent.json')
    return ofVolume('agent', dirname(path))
  return serverOf(argv)
}

function serverOf(argv: readonly string[]): Omit<ClusterProcess, 'identity'> | undefined {
  const defaults = argv.find((argument) => argument.startsWith('--defaults-file='))?.slice('--defaults-file='.length)
  if (defaults === undefined || !argv.some((argument) => basename(argument) === 'mysqld')) return undefined
  return ofVolume('mysqld', volumeBefore(defaults))
}

function ofVolume(kind: ProcessKind, volume: string): Omit<ClusterProcess, 'identity'> | undefined {
  if (basename(dirname(volume)) !== 'instances') return undefined
  return { kind, dir: dirname(dirname(volume)), instance: basename(volume) }
}

/** The server's configuration lies below its volume. */
function volumeBefore(serverConfig: string): string {
  const parts = serverConfig.split('/')
  const at = parts.lastIndexOf('instances')
  return at < 0 ? '' : join('/', ...parts.slice(0, at + 2))
}

/** The cluster that a folder's processes name: by an instance's name, else by the folder's. */
export function clusterNameOf(processes: readonly ClusterProcess[], dir: string): string {
  const instance = processes.find((one) => one.instance !== undefined)?.instance
  return instance?.replace(/-\d{1,2}$/, '') ?? basename(dir)
}

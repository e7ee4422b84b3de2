import { readdir, readFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { readProcessStat, type ProcessIdentity } from '#common/process/process-stat.ts'

/** What a process of a local cluster does there. */
export type ProcessKind = 'supervisor' | 'manager' | 'router' | 'haproxy' | 'agent' | 'mysqld'

/** Where an HAProxy has its configuration, below the cluster's folder. */
const proxyConfig = '/run/router/haproxy.cfg'

/** A process of a local cluster, found by its command line. */
export interface ClusterProcess {
  readonly kind: ProcessKind
  /** The cluster's folder, which may be gone. */
  readonly dir: string
  /** The instance; undefined for those of the whole cluster. */
  readonly instance: string | undefined
  readonly identity: ProcessIdentity
}

/**
 * Every process of local clusters on this machine that this user may end, by its command line: what the list of
 * processes in a cluster's folder would say, where that list or the whole folder was removed under processes that run.
 */
export async function clusterProcesses(): Promise<readonly ClusterProcess[]> {
  return (await commandLines()).flatMap(({ argv, identity }) => {
    const place = placeOf(argv)
    return place === undefined ? [] : [{ ...place, identity }]
  })
}

/** The processes of one cluster's folder. */
export async function processesOf(dir: string): Promise<readonly ClusterProcess[]> {
  return (await clusterProcesses()).filter((one) => one.dir === dir)
}

/** Processes whose command line ends with these words. */
export async function processesEndingWith(words: readonly string[]): Promise<readonly ProcessIdentity[]> {
  const isMeant = (argv: readonly string[]): boolean => isDeepStrictEqual(argv.slice(-words.length), words)
  return (await commandLines()).filter(({ argv }) => isMeant(argv)).map(({ identity }) => identity)
}

interface CommandLine {
  readonly argv: readonly string[]
  readonly identity: ProcessIdentity
}

async function commandLines(): Promise<readonly CommandLine[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number)
  const found = await Promise.all(pids.map(look))
  return found.flatMap((one) => one ?? [])
}

async function look(pid: number): Promise<CommandLine | undefined> {
  const stat = readProcessStat(pid)
  if (stat === undefined || stat.state === 'Z') return undefined
  // Gone in between, or another user's.
  const text = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
  return { argv: text.split('\0').slice(0, -1), identity: { pid, startTicks: stat.startTicks } }
}

const ofWholeCluster: Readonly<Record<string, ProcessKind>> = {
  manager: 'manager',
  router: 'router',
  'remote-agents': 'agent',
}

/**
 * Whose command line this is: the exact ones with which those processes are started, and nothing
 * that only names a folder.
 */
export function placeOf(argv: readonly string[]): Place {
  const [verb, word, path = ''] = argv.slice(-3)
  if (verb === 'local' && word === 'supervise') return { kind: 'supervisor', dir: path, instance: undefined }
  const kind = word === '--cluster-dir' ? ofWholeCluster[verb ?? ''] : undefined
  if (kind !== undefined) return { kind, dir: path, instance: undefined }
  return ofAgent(verb, word, path) ?? ofProxy(word, path) ?? serverOf(argv)
}

type Place = Omit<ClusterProcess, 'identity'> | undefined

function ofAgent(verb: string | undefined, word: string | undefined, path: string): Place {
  const isAgent = verb === 'agent' && word === '--config' && basename(path) === 'agent.json'
  return isAgent ? ofVolume('agent', dirname(path)) : undefined
}

function ofProxy(word: string | undefined, path: string): Place {
  if (word !== '-f' || !path.endsWith(proxyConfig)) return undefined
  return { kind: 'haproxy', dir: path.slice(0, -proxyConfig.length), instance: undefined }
}

function serverOf(argv: readonly string[]): Place {
  const defaults = argv.find((argument) => argument.startsWith('--defaults-file='))?.slice('--defaults-file='.length)
  if (defaults === undefined || !argv.some((argument) => basename(argument) === 'mysqld')) return undefined
  return ofVolume('mysqld', volumeBefore(defaults))
}

function ofVolume(kind: ProcessKind, volume: string): Place {
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

import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { patienceMs } from '../support/patience.ts'

/**
 * The cluster that `npm run kube` makes on this machine: its nodes can be cut off and lose their power, and what runs
 * on them are processes of this machine. On another cluster (`REGENT_E2E_KUBECONFIG`) flows that need this are left
 * out.
 */
const root = join(import.meta.dirname, '..', '..')
const home = process.env['REGENT_KUBE_HOME'] || '/var/tmp/regent-kube'
const tool = join(root, 'scripts', 'kube', 'kube')

/** Whether what KUBECONFIG names is that cluster. */
export const isOwnCluster = process.env['KUBECONFIG'] === join(home, 'kubeconfig')

export interface RunOptions {
  readonly deadlineMs?: number
  readonly input?: string
  readonly env?: NodeJS.ProcessEnv
}

/** Runs a command and gives what it printed; throws with what it complained about where it fails. */
export async function run(
  command: string,
  words: readonly string[],
  { deadlineMs = patienceMs, input = '', env = process.env }: RunOptions = {},
): Promise<string> {
  const child = spawn(command, words, {
    stdio: ['pipe', 'pipe', 'pipe'],
    timeout: deadlineMs,
    killSignal: 'SIGKILL',
    env,
  })
  const text = { out: '', err: '' }
  child.stdout.setEncoding('utf8').on('data', (part: string) => (text.out += part))
  child.stderr.setEncoding('utf8').on('data', (part: string) => (text.err += part))
  child.stdin.on('error', () => undefined).end(input)
  const status = await new Promise<number | null>((resolve, reject) =>
    child.once('error', reject).once('close', resolve),
  )
  if (status !== 0)
    throw new Error(
      `${[command, ...words].join(' ').slice(0, 300)} ended with ${status ?? `SIGKILL after ${deadlineMs} ms`}: ${text.err.trim() || text.out.trim()}`,
    )
  return text.out
}

/** `npm run kube -- VERB …` */
export async function kube(...words: readonly string[]): Promise<void> {
  await run('bash', [tool, ...words])
}

/**
 * Words before a command that run it in a node's network: what it reaches is what that node's kube-proxy and cable say.
 */
export function inNetworkOf(node: string): readonly string[] {
  return ['nsenter', `--net=/run/netns/${clusterName()}-${node}`]
}

/** What settings.sh calls things on this machine. */
function clusterName(): string {
  return home === '/var/tmp/regent-kube'
    ? 'regent'
    : `regent-${createHash('sha256').update(home).digest('hex').slice(0, 6)}`
}

/**
 * A process of a pod, as this machine sees it: the container runtime tells every process its pod's name. Throws where
 * there is none.
 */
export function processOf(pod: string, isIt: (commandLine: string) => boolean): Promise<number> {
  return findProcess(
    `pod ${pod}`,
    (commandLine, environment) => environment.includes(`HOSTNAME=${pod}`) && isIt(commandLine),
  )
}

async function findProcess(
  whose: string,
  isIt: (commandLine: string, environment: readonly string[]) => boolean,
): Promise<number> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  for (const pid of pids) {
    const [environment, commandLine] = await Promise.all([contentOf(pid, 'environ'), contentOf(pid, 'cmdline')])
    if (isIt(commandLine.replaceAll('\0', ' '), environment.split('\0'))) return Number(pid)
  }
  throw new Error(`no such process of ${whose} runs on this machine`)
}

async function contentOf(pid: string, file: string): Promise<string> {
  return readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => '')
}

export const isMysqld = (commandLine: string): boolean => /^\S*mysqld /.test(commandLine)
export const isManager = (commandLine: string): boolean => commandLine.includes(' manager --config ')
export const isRouter = (commandLine: string): boolean => commandLine.includes(' router --config ')

/** etcd as on a disk that is overloaded: it stands still most of the time. Resolves to what ends that. */
export async function slowEtcd({
  stoppedMs,
  runsMs,
}: {
  readonly stoppedMs: number
  readonly runsMs: number
}): Promise<() => Promise<void>> {
  const pid = await findProcess('etcd', (commandLine) => commandLine.includes(`etcd --data-dir ${join(home, 'etcd')} `))
  const over = new AbortController()
  const rest = (ms: number) => sleep(ms, undefined, { signal: over.signal }).catch(() => undefined)
  const breathe = async (): Promise<void> => {
    while (!over.signal.aborted) {
      process.kill(pid, 'SIGSTOP')
      await rest(stoppedMs)
      process.kill(pid, 'SIGCONT')
      await rest(runsMs)
    }
  }
  const breathing = breathe()
  return () => {
    over.abort()
    return breathing
  }
}

/** Gives an image that every node has a second name. */
export async function nameImageAnew(image: string, name: string): Promise<void> {
  const nodes = (await readdir(home)).filter((folder) => /^n\d$/.test(folder))
  for (const node of nodes)
    await run('ctr', [
      '--address',
      join(home, node, 'containerd.sock'),
      '--namespace',
      'k8s.io',
      'images',
      'tag',
      '--force',
      `docker.io/library/${image}`,
      `docker.io/library/${name}`,
    ])
}

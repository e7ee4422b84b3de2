import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { agentConfigPath } from '#local/folder/state-layout.ts'
import type { TestCluster } from './cluster.ts'

const bin = join(import.meta.dirname, '..', '..', 'bin', 'regent')

/** Port of the streams of each instance, at the instance's own address. */
export const streamingPort = 3_502

/**
 * Has the agents of these instances started anew with more in their configuration, one after the other; each answers
 * before the next is taken.
 */
export async function reconfigureAgents(
  cluster: TestCluster,
  names: readonly string[],
  more: Readonly<Record<string, unknown>>,
): Promise<void> {
  for (const name of names) {
    const path = agentConfigPath(cluster.layout, name)
    const config = JSON.parse(await readFile(path, 'utf8')) as object
    await writeFile(path, JSON.stringify({ ...config, ...more }))
    await cluster.fault(name, 'kill-agent')
    await startAgent(cluster, name)
  }
  await cluster.whole((await cluster.status()).instances.length)
}

/** Starts an agent that was killed, and waits until its lifecycle port answers. */
export async function startAgent(cluster: TestCluster, name: string): Promise<void> {
  await cluster.fault(name, 'start')
  const { host } = await cluster.instance(name)
  await cluster.until(`${name} serves lifecycle actions`, () =>
    fetch(`http://${host}:3501/`, { signal: AbortSignal.timeout(2_000) }).then(
      () => true,
      () => false,
    ),
  )
}

/** How a worker ended. */
export interface WorkerEnd {
  /** Null where the worker was killed. */
  readonly code: number | null
  readonly output: string
}

/** `regent lifecycle-agent --server=false`, loading a copy into a folder. */
export interface LoadingWorker {
  readonly process: ChildProcess
  readonly end: Promise<WorkerEnd>
}

export function startWorker(
  source: { readonly host: string; readonly port: number },
  options: { readonly dataDir: string; readonly tokenFile: string; readonly task?: string },
): LoadingWorker {
  const { dataDir, tokenFile, task = 'load-1' } = options
  const newReplica = { remote: source.host, port: source.port }
  const child = spawn(bin, ['lifecycle-agent', '--server=false', '--token-file', tokenFile, '--data-dir', dataDir], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      KB_AGENT_POD_NAME: 'shop-new-0',
      KB_AGENT_TASK: JSON.stringify([
        { instance: 'shop-new', task: 'newReplica', UID: task, replicas: 'shop-new-0', newReplica },
      ]),
    },
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (part: string) => (output += part))
  const end = once(child, 'close').then(([code]) => ({ code: code as number | null, output }))
  return { process: child, end }
}

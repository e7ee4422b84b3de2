import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { readProcessStat, type ProcessIdentity } from '#common/process/process-stat.ts'
import { claimPort } from '#test/support/free-port.ts'
import { claimNumber } from './addresses/addresses.ts'
import { instancesFor, type LocalCluster } from './folder/cluster-file.ts'

/** A folder that is gone when the test ends. */
export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'regent-test-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

export async function fileWith(content: string | Uint8Array): Promise<string> {
  const path = join(await temporaryFolder(), 'file')
  await writeFile(path, content)
  return path
}

export function clusterIn(dir: string, changes: Partial<LocalCluster> = {}): LocalCluster {
  const base = { name: 'shop', number: 198, hosts: [] }
  return {
    version: 1,
    ...base,
    api: { host: '127.0.0.1', port: 9599 },
    instances: instancesFor(dir, base, 3),
    store: 'file',
    mysql: { mysqld: ['/usr/sbin/mysqld'], mysqlbinlog: [], mysql: ['/usr/bin/mysql'], pluginDir: '', shareDir: '' },
    ...changes,
  }
}

/**
 * A cluster number that nobody on this machine has, and that no other test is given; from 100 on, for clusters that
 * people start take the lowest.
 */
export async function freeNumber(): Promise<number> {
  for (;;) {
    const number = 100 + Math.floor(Math.random() * 100)
    if (!(await claimPort(`127.24.${number}.250`, testsPort))) continue
    const claim = await claimNumber(number)
    if (claim === undefined) continue
    await claim.release()
    return number
  }
}

/** On it a test claims its number; the product has another one. */
const testsPort = 9_398

/** A process that only waits, ended with the test. */
export function idleProcess(): ProcessIdentity {
  const child = spawn('sleep', ['60'], { stdio: 'ignore' })
  onTestFinished(() => void child.kill('SIGKILL'))
  const pid = child.pid ?? 0
  return { pid, startTicks: readProcessStat(pid)?.startTicks ?? 0 }
}

import { rename, rm } from 'node:fs/promises'
import { runCommand } from '#common/process/run-command.ts'
import type { TestCluster } from './cluster.ts'

/** Copies the whole volume of an instance while nothing runs on it, and lets the instance go on. */
export async function takeSnapshot(cluster: TestCluster, name: string): Promise<void> {
  const { volume } = await cluster.instance(name)
  await cluster.fault(name, 'kill')
  const copied = await runCommand(['cp', '-a', '--reflink=auto', volume, `${volume}.copy`], { deadlineMs: 60_000 })
  if (!copied.ok) throw new Error(copied.failure)
  await cluster.fault(name, 'start')
  await cluster.until(
    `${name} answers again`,
    async () => (await cluster.value(name, 'select 1').catch(() => '')) === '1',
  )
  await cluster.whole()
}

/** The instance has been killed: its volume is what it was when it was copied. */
export async function putBack(cluster: TestCluster, name: string): Promise<void> {
  const { volume } = await cluster.instance(name)
  await rm(volume, { recursive: true })
  await rename(`${volume}.copy`, volume)
}

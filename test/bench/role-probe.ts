import { readFile, writeFile } from 'node:fs/promises'
import { Agent } from 'node:http'
import { agentConfigPath } from '#local/folder/state-layout.ts'
import { lifecycleDefaults } from '#agents/lifecycle/options.ts'
import type { TestCluster } from '../support/cluster.ts'
import { callAction, outputOf } from '../support/lifecycle-agent.ts'
import { timed } from '../support/monotonic.ts'
import type { CaseResult } from './report.ts'

const callsARun = 100

/** What a call of the built-in `roleProbe` takes, over a connection that is kept, beside a primary. */
export async function measureRoleProbe(cluster: TestCluster, runs: number): Promise<CaseResult> {
  const name = await cluster.primary()
  await serveLifecycle(cluster, name)
  const { host } = await cluster.instance(name)
  const connections = new Agent({ keepAlive: true, maxSockets: 1 })
  const options = { at: { host, port: lifecycleDefaults.port }, connections }
  const ask = (action: string) => callAction({ action }, options)
  try {
    await cluster.until(
      `${name} says that it is the primary`,
      () =>
        ask('roleProbe').then(
          (answer) => outputOf(answer) === 'primary',
          () => false,
        ),
      60_000,
    )
    const samples = new Map<string, number[]>([
      ['roleProbe, µs', []],
      ['a call of an action that is not there, µs', []],
    ])
    for (let call = 0; call < runs * callsARun; call += 1) {
      samples.get('roleProbe, µs')?.push((await timed(() => ask('roleProbe'))) * 1_000)
      samples.get('a call of an action that is not there, µs')?.push((await timed(() => ask('nothing'))) * 1_000)
    }
    return { name: 'built-in roleProbe over HTTP', unit: '', samples, lost: 0, acknowledged: 0 }
  } finally {
    connections.destroy()
  }
}

/** The agent reads its configuration when it starts. */
async function serveLifecycle(cluster: TestCluster, instance: string): Promise<void> {
  const path = agentConfigPath(cluster.layout, instance)
  const config = JSON.parse(await readFile(path, 'utf8')) as object
  await writeFile(path, JSON.stringify({ ...config, lifecycle: { open: true } }))
  await cluster.fault(instance, 'kill-agent')
  await cluster.fault(instance, 'start')
}

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stringify } from 'yaml'
import type { ModeName } from '#failover/protocol/mode-name.ts'
import { startCluster } from '#test/support/cluster.ts'
import { diagnose } from '#test/support/diagnosis.ts'
import { Namespaces } from '#test/support/namespaces.ts'
import { runCase } from './cases.ts'
import type { CaseResult } from './report.ts'

interface CutOptions {
  readonly runs: number
  readonly instances: number
  readonly mode: ModeName
  readonly told: (line: string) => void
}

/**
 * The machine of the primary is cut off from everybody, clients and manager too. Each machine is a network namespace.
 * A sentence where none can be made.
 */
export async function measureCut({ runs, instances, mode, told }: CutOptions): Promise<readonly CaseResult[] | string> {
  const whyNot = await Namespaces.whyNot()
  if (whyNot !== undefined) return `cut is left out: ${whyNot}`
  const machines = Array.from({ length: instances }, (_, at) => `bench-${at}`)
  const folder = await mkdtemp(join(tmpdir(), 'regent-bench-cut-'))
  const network = await Namespaces.create([...machines, 'client'])
  try {
    const hosts = join(folder, 'hosts.yaml')
    const list = machines.map((name) => ({ address: network.address(name), wrapper: network.wrapper(name) }))
    await writeFile(hosts, stringify(list))
    // Nobody but the primary itself can say what it acknowledged in mode async.
    const spec = mode === 'async' ? { mode, failover: { windowMs: 0, acceptLoss: 'always' as const } } : { mode }
    const cluster = await startCluster({ name: 'bench', instances, spec, flags: ['--hosts', hosts] })
    const cable = {
      isolate: (name: string) => network.isolate(name),
      mend: () => network.mend(),
      writerWrapper: network.wrapper('client'),
    }
    try {
      await cluster.whole(instances)
      return await runCase(cluster, 'cut', { runs, told, router: false, cable })
    } catch (error) {
      process.stderr.write(`${(await diagnose(cluster)).join('\n')}\n`)
      throw error
    } finally {
      await network.mend()
      await cluster.down()
    }
  } finally {
    await network.remove()
    await rm(folder, { recursive: true, force: true })
  }
}

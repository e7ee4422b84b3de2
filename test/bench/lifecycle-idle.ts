import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { LifecycleAgent } from '../support/lifecycle-agent.ts'
import { monotonicMs } from '../support/monotonic.ts'
import { rssOf, ticksPerSecond } from './process-cost.ts'
import type { CaseResult } from './report.ts'

const probes = 10
const overMs = 60_000
/** What comes with a start is over. */
const restMs = 5_000
const cases = { 'no probe': undefined, 'each 10 s': 10, 'each second': 1 } as const

/**
 * What a lifecycle agent takes while nobody calls and no role changes: without a probe, and with ten probes that each
 * run a shell. All at the same time.
 */
export async function measureIdleProbes(): Promise<CaseResult> {
  // The first start of new code compiles it, takes more memory for that, and keeps the result for the next.
  await (await anAgent(undefined)).end()
  const agents: (readonly [string, LifecycleAgent])[] = []
  try {
    for (const [what, period] of Object.entries(cases))
      agents.push([period === undefined ? what : `${probes} probes ${what}`, await anAgent(period)])
    await sleep(restMs)
    const before = await Promise.all(agents.map(([, { pid }]) => secondsOf(pid)))
    const began = monotonicMs()
    await sleep(overMs)
    const minutes = (monotonicMs() - began) / 60_000
    const samples = new Map<string, readonly number[]>()
    for (const [at, [what, { pid }]] of agents.entries()) {
      const [own, commands] = await secondsOf(pid)
      const [ownBefore = 0, commandsBefore = 0] = before[at] ?? []
      samples.set(`${what}: memory, MB`, [await rssOf(pid)])
      samples.set(`${what}: the agent’s processor, s a minute`, [(own - ownBefore) / minutes])
      samples.set(`${what}: its commands’ processor, s a minute`, [(commands - commandsBefore) / minutes])
    }
    return { name: 'idle lifecycle agent', unit: '', samples, lost: 0, acknowledged: 0 }
  } finally {
    for (const [, agent] of agents) await agent.end()
  }
}

async function anAgent(periodSeconds: number | undefined): Promise<LifecycleAgent> {
  const names = periodSeconds === undefined ? [] : Array.from({ length: probes }, (_, at) => `probe${at}`)
  const agent = await LifecycleAgent.start({
    environment: {
      KB_AGENT_ACTION: JSON.stringify(
        ['probe0', ...names.slice(1)].map((name) => ({ name, exec: { command: ['bash', '-c', 'echo -n primary'] } })),
      ),
      KB_AGENT_PROBE: JSON.stringify(names.map((action) => ({ instance: 'bench', action, periodSeconds }))),
    },
    options: ['--open', '--port', '0', '--streaming-port', '0'],
  })
  await agent.said(names.length === 0 ? 'HTTP listens' : 'probes run')
  return agent
}

/** Seconds of processor that a process took, and that its children took which have ended. */
async function secondsOf(pid: number): Promise<readonly [number, number]> {
  const line = await readFile(`/proc/${pid}/stat`, 'utf8')
  const fields = line
    .slice(line.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number)
  const [user = 0, system = 0, childrenUser = 0, childrenSystem = 0] = fields.slice(11)
  return [(user + system) / ticksPerSecond, (childrenUser + childrenSystem) / ticksPerSecond]
}

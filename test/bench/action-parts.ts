import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Pipes } from '#agents/lifecycle/actions/pipes.ts'
import { ProcessGroups } from '#agents/lifecycle/actions/process-groups.ts'
import { testingActions } from '#agents/lifecycle/testing.ts'

/**
 * What the agent's own processor time for an exec action is made of: each line does what the line before does, and
 * more. Not the time of the command, and nothing of HTTP. It is run by itself:
 * `sh scripts/node24 test/bench/action-parts.ts`.
 */
const [runs, first] = [400, 50]
const argv = ['/bin/echo', '-n', 'primary'] as const
const [program, ...given] = argv
const environment = { ...process.env }
const groups = new ProcessGroups(Pipes.open())
const { desk } = testingActions([{ name: 'echo', exec: { command: argv } }], { environment: { PATH: '/bin' } })

const parts: Readonly<Record<string, () => Promise<unknown>>> = {
  'Node spawns the command': () => once(spawn(program, given, { stdio: 'ignore' }), 'exit'),
  '… in a process group of its own, with two pipes': async () => {
    const started = groups.start({ argv, environment }, 'output')
    if (typeof started === 'string') throw new Error(started)
    started.output?.resume()
    started.errors?.resume()
    await started.closed
  },
  '… as an action, with its time limit and output': () => desk.call({ action: 'echo' }),
}

async function measure(what: string, work: () => Promise<unknown>): Promise<void> {
  for (let run = 0; run < first; run += 1) await work()
  const before = process.cpuUsage()
  for (let run = 0; run < runs; run += 1) await work()
  const { user, system } = process.cpuUsage(before)
  const ms = (microseconds: number): string => (microseconds / 1_000 / runs).toFixed(2)
  console.log(`${what}: ${ms(user + system)} ms, ${ms(system)} of it in the kernel`)
}

for (const [what, work] of Object.entries(parts)) await measure(what, work)
const ballast = Buffer.alloc(300 * 1024 * 1024, 1)
await measure(`Node spawns the command, with ${ballast.length / 1024 / 1024} MiB more memory`, () =>
  once(spawn(program, given, { stdio: 'ignore' }), 'exit'),
)
process.exit(0)

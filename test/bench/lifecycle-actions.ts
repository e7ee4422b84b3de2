import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { Agent } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { callAction, LifecycleAgent } from '../support/lifecycle-agent.ts'
import { timed } from '../support/monotonic.ts'
import type { CaseResult } from './report.ts'

const actions = {
  true: ['/bin/true'],
  bash: ['bash', '-c', 'echo -n primary'],
} as const
const callsARun = 10

/**
 * What an action of a lifecycle agent takes beside a bare fork and exec of the same command. A shell forks and waits in
 * a loop: nothing does it with less. Node forks with more memory, as the agent must.
 */
export async function measureActions(runs: number): Promise<CaseResult> {
  const folder = await mkdtemp(join(tmpdir(), 'regent-bench-'))
  const agent = await LifecycleAgent.start({
    environment: {
      KB_AGENT_ACTION: JSON.stringify(Object.entries(actions).map(([name, command]) => ({ name, exec: { command } }))),
      KB_AGENT_PROBE: 'null',
    },
    options: ['--open', '--unix-socket', folder],
  })
  const connections = new Agent({ keepAlive: true, maxSockets: 1 })
  const samples = new Map<string, number[]>()
  const add = (what: string, ms: number) => samples.set(what, [...(samples.get(what) ?? []), ms])
  try {
    const { address } = await agent.said('HTTP listens')
    const options = { at: { socketPath: String(address) }, connections }
    for (let run = 0; run < runs * callsARun; run += 1) {
      for (const [name, command] of Object.entries(actions)) {
        const shown = command.join(' ')
        add(`${shown}: forked by a shell, ms`, await forkedByShell(command))
        add(`${shown}: spawned by Node, ms`, await timed(() => spawnedByNode(command)))
        add(`${shown}: as an action, over HTTP, ms`, await timed(() => callAction({ action: name }, options)))
      }
      add('a call of an action that is not there, ms', await timed(() => callAction({ action: 'nothing' }, options)))
    }
    return { name: 'exec action', unit: '', samples, lost: 0, acknowledged: 0 }
  } finally {
    connections.destroy()
    await agent.end()
    await rm(folder, { recursive: true })
  }
}

const forks = 10

/** Of some forks and waits in a shell the mean: its clock is read in the shell, around them alone. */
async function forkedByShell(command: readonly string[]): Promise<number> {
  const script = `began=$EPOCHREALTIME; for ((i = 0; i < ${forks}; i++)); do "$@" > /dev/null; done; echo $began $EPOCHREALTIME`
  const child = spawn('bash', ['-c', script, 'bash', ...command], {
    env: { ...process.env, LC_ALL: 'C' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let said = ''
  child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()))
  await once(child, 'close')
  const [began = NaN, ended = NaN] = said.trim().split(' ').map(Number)
  return ((ended - began) * 1_000) / forks
}

async function spawnedByNode([program = '', ...given]: readonly string[]): Promise<void> {
  await once(spawn(program, given, { stdio: 'ignore' }), 'exit')
}

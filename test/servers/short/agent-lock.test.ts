import { spawn, type ChildProcess } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { anAgentConfig } from '#agents/testing.ts'
import { volumeLayout } from '#agents/instance/volume-layout.ts'
import { until } from '#test/support/bare-instance.ts'
import { ownAddress, type OwnAddress } from '#test/support/own-address.ts'

const bin = join(import.meta.dirname, '../../../bin/regent')
let folder: string
let volume: string
let address: OwnAddress
const running: RunningAgent[] = []

/** A real agent process; there is no mysqld, since nobody assigns anything. */
class RunningAgent {
  readonly process: ChildProcess
  said = ''
  ended = false

  constructor(config: string) {
    this.process = spawn(bin, ['agent', '--config', config], { stdio: ['ignore', 'pipe', 'pipe'] })
    for (const stream of [this.process.stdout, this.process.stderr])
      stream?.on('data', (bytes: Buffer) => (this.said += bytes.toString()))
    this.process.once('close', () => (this.ended = true))
    running.push(this)
  }

  listens(): Promise<void> {
    return until(() => this.said.includes('agent listens') || this.ended, `an agent that listens: ${this.said}`)
  }

  end(): Promise<void> {
    return until(() => this.ended, 'the end of the agent')
  }
}

async function configWith(agentPort: number): Promise<string> {
  const file = join(folder, `agent-${agentPort}.json`)
  const [tokenFile, accountSecretFile] = [join(folder, 'token'), join(folder, 'secret')]
  await writeFile(tokenFile, `${'t'.repeat(40)}\n`, { mode: 0o600 })
  await writeFile(accountSecretFile, 'a secret of tests only\n', { mode: 0o600 })
  await writeFile(
    file,
    JSON.stringify(
      anAgentConfig({
        host: address.host,
        agentPort,
        probePort: 0,
        volume,
        tokenFile,
        accountSecretFile,
        mysqld: ['/nowhere/mysqld'],
        logLevel: 'info',
      }),
    ),
  )
  return file
}

const stored = () => readFile(volumeLayout(volume).stateFile)

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'regent-lock-'))
  volume = join(folder, 'volume')
  address = await ownAddress()
  await mkdir(volume)
})
afterEach(async () => {
  for (const agent of running.splice(0)) {
    agent.process.kill('SIGKILL')
    await agent.end()
  }
})
afterAll(async () => {
  address.release()
  await rm(folder, { recursive: true })
})

it('A second agent of a volume writes nothing, at the same address or at another, and says who has the volume and what to do', async () => {
  const first = new RunningAgent(await configWith(9471))
  await first.listens()
  const before = await stored()
  for (const agentPort of [9471, 9472]) {
    const second = new RunningAgent(await configWith(agentPort))
    await second.end()
    expect(second.process.exitCode).not.toBe(0)
    expect((await stored()).equals(before)).toBe(true)
    expect(second.said).toContain(`agent/lock is locked by the agent of shop-2, process ${first.process.pid} on `)
    expect(second.said).toContain('Nothing was written. End the other agent')
  }
  expect(first.ended).toBe(false)
})

it('A frozen agent keeps its volume; a killed one leaves no lock behind', async () => {
  const first = new RunningAgent(await configWith(9471))
  await first.listens()
  first.process.kill('SIGSTOP')
  const second = new RunningAgent(await configWith(9472))
  await second.end()
  expect(second.said).toContain('agent/lock is locked by')
  first.process.kill('SIGKILL')
  await first.end()
  const third = new RunningAgent(await configWith(9472))
  await third.listens()
  expect(third.said).toContain('agent listens')
})

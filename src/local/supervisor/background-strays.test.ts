import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished, vi } from 'vitest'
import { endStrays } from './background.ts'
import { processesOf } from '../processes/cluster-processes.ts'

/** Processes with the command lines of a cluster whose folder is gone; they do nothing. */
async function strays(dir: string): Promise<ReadonlyMap<number, string>> {
  const kinds = new Map<number, string>()
  const volume = join(dir, 'instances', 'shop-0')
  const lines = {
    supervisor: ['local', 'supervise', dir],
    manager: ['manager', '--cluster-dir', dir],
    agent: ['agent', '--config', join(volume, 'agent.json')],
    mysqld: ['--', `--defaults-file=${join(volume, 'run', 'my.cnf')}`],
  }
  for (const [kind, words] of Object.entries(lines)) {
    const child = spawn(process.execPath, ['-e', 'setInterval(() => undefined, 1e6)', ...words], {
      stdio: 'ignore',
      argv0: kind === 'mysqld' ? 'mysqld' : 'node',
    })
    onTestFinished(() => void child.kill('SIGKILL'))
    await once(child, 'spawn')
    kinds.set(child.pid ?? 0, kind)
  }
  return kinds
}

it('What runs of a cluster whose folder is gone is ended, whoever starts the others first; another cluster’s processes stay', async () => {
  const home = await mkdtemp(join(tmpdir(), 'regent-strays-'))
  onTestFinished(() => rm(home, { recursive: true, force: true }))
  const [mine, other] = [join(home, 'shop'), join(home, 'other')]
  const kinds = await strays(mine)
  await strays(other)
  expect((await processesOf(mine)).map(({ kind }) => kind).sort()).toEqual(['agent', 'manager', 'mysqld', 'supervisor'])
  const signals = vi.spyOn(process, 'kill')
  onTestFinished(() => signals.mockRestore())
  await endStrays(mine)
  expect(await processesOf(mine)).toEqual([])
  const told = signals.mock.calls.flatMap(([pid, signal]) => (signal === 0 ? [] : (kinds.get(pid) ?? 'another one')))
  expect([...new Set(told)]).toEqual(['supervisor', 'manager', 'agent', 'mysqld'])
  expect((await processesOf(other)).length).toBe(4)
  await endStrays(mine)
})

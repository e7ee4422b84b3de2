import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { endStrays } from './background.ts'
import { processesOf } from '../processes/cluster-processes.ts'

/**
 * Processes with the command lines of a cluster whose folder is gone; they do nothing, and note the order of their
 * ends.
 */
async function strays(dir: string): Promise<readonly string[]> {
  const ended: string[] = []
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
    child.once('exit', () => ended.push(kind))
    onTestFinished(() => void child.kill('SIGKILL'))
    await once(child, 'spawn')
  }
  return ended
}

it('What runs of a cluster whose folder is gone is ended, whoever starts the others first; another cluster’s processes stay', async () => {
  const home = await mkdtemp(join(tmpdir(), 'regent-strays-'))
  onTestFinished(() => rm(home, { recursive: true, force: true }))
  const [mine, other] = [join(home, 'shop'), join(home, 'other')]
  const ended = await strays(mine)
  const stay = await strays(other)
  expect((await processesOf(mine)).map(({ kind }) => kind).sort()).toEqual(['agent', 'manager', 'mysqld', 'supervisor'])
  await endStrays(mine)
  expect(await processesOf(mine)).toEqual([])
  expect(ended).toEqual(['supervisor', 'manager', 'agent', 'mysqld'])
  expect([stay, (await processesOf(other)).length]).toEqual([[], 4])
  await endStrays(mine)
})

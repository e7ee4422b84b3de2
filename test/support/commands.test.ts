import { once } from 'node:events'
import { fork } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { readProcessStat } from '#common/process/process-stat.ts'
import { Commands } from './commands.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'regent-commands-'))
})
afterEach(() => rm(folder, { recursive: true }))

/** A shell that has a child; both write their process ids. `trap` is what both do with SIGTERM. */
function aFamily(trap: string): readonly string[] {
  const child = `${trap}; echo $$ >${folder}/child; while :; do sleep 0.05; done`
  return ['sh', '-c', `${trap}; sh -c '${child}' & echo $$ >${folder}/parent; while :; do sleep 0.05; done`]
}

async function pidOf(who: 'parent' | 'child'): Promise<number> {
  return vi.waitFor(async () => {
    const pid = Number(await readFile(join(folder, who), 'utf8'))
    expect(pid).toBeGreaterThan(0)
    return pid
  })
}

/** The first process of a container may leave those as zombies that have ended. */
function isThere(pid: number): boolean {
  return !['Z', 'X', undefined].includes(readProcessStat(pid)?.state)
}

describe('commands that can be stopped', () => {
  it('are ended with all they started, and none begins after them but what is insisted on', async () => {
    const commands = new Commands()
    const ran = commands.run(aFamily(':'))
    const pids = [await pidOf('parent'), await pidOf('child')]
    commands.stop()
    expect(await ran).not.toBe(0)
    expect(pids.map(isThere)).toEqual([false, false])
    expect(await commands.run(['touch', join(folder, 'begun')])).not.toBe(0)
    expect(existsSync(join(folder, 'begun'))).toBe(false)
    expect(await commands.run(['touch', join(folder, 'begun')], { insists: true })).toBe(0)
    expect(existsSync(join(folder, 'begun'))).toBe(true)
  })

  it('are killed where they do not end by themselves, the child that outlives its parent too', async () => {
    const commands = new Commands(300)
    const ran = commands.run(aFamily('trap "" TERM'))
    const pids = [await pidOf('parent'), await pidOf('child')]
    commands.stop()
    commands.stop()
    expect(await ran).not.toBe(0)
    await vi.waitFor(() => expect(pids.map(isThere)).toEqual([false, false]))
  })

  it('are out of reach of a signal to the whole group of the one who runs them', async () => {
    const program = join(folder, 'runner.ts')
    const commandsFile = JSON.stringify(join(import.meta.dirname, 'commands.ts'))
    await writeFile(
      program,
      `import { Commands } from ${commandsFile}\nconst commands = new Commands()\nprocess.on('SIGINT', () => undefined)\nprocess.exitCode = await commands.run(${JSON.stringify(['sh', '-c', `echo $$ >${folder}/parent; until [ -e ${folder}/go ]; do sleep 0.05; done`])})\n`,
    )
    const runner = fork(program, { detached: true, stdio: 'ignore' })
    const ended = once(runner, 'exit')
    await pidOf('parent')
    process.kill(-(runner.pid ?? 0), 'SIGINT')
    await writeFile(join(folder, 'go'), '')
    expect(await ended).toEqual([0, null])
  })
})

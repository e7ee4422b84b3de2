import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { readProcessStat } from '#common/process/process-stat.ts'
import { watchScript } from './scripts.ts'

describe('What a far host says of its mysqld', () => {
  let folder = ''
  const children: ChildProcess[] = []

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'regent-far-watch-'))
  })
  afterEach(async () => {
    for (const child of children.splice(0)) child.kill('SIGKILL')
    await rm(folder, { recursive: true })
  })

  /** A process that works in the data folder, its number in the pid file; how the script shows it. */
  async function serverThere(): Promise<{ readonly server: ChildProcess; readonly life: string }> {
    const server = spawn('sleep', ['60'], { cwd: folder })
    children.push(server)
    await writeFile(join(folder, 'pid'), `${server.pid}\n`)
    return { server, life: `${server.pid} ${readProcessStat(server.pid ?? 0)?.startTicks}` }
  }

  /** What is said beside the boot and the dots. */
  function watching(known: readonly string[] = [], script = watchScript): readonly string[] {
    const args = [join(folder, 'pid'), folder, '0.02', '50', ...known]
    const child = spawn('sh', ['-c', script, 'sh', ...args], { stdio: ['ignore', 'pipe', 'ignore'] })
    children.push(child)
    const said: string[] = []
    child.stdout.on('data', (chunk: Buffer) => {
      said.push(
        ...chunk
          .toString('utf8')
          .split('\n')
          .filter((line) => /^(none|\d)/.test(line)),
      )
    })
    return said
  }

  it('is its end, and a start of another one', async () => {
    const { server, life } = await serverThere()
    const said = watching()
    await expect.poll(() => said).toEqual([`${life} R`])
    server.kill('SIGKILL')
    await expect.poll(() => said.at(-1)).toBe('none')
    const { life: next } = await serverThere()
    await expect.poll(() => said.at(-1)).toBe(`${next} R`)
  })

  it('is no end where somebody removes the pid file of one that runs, or writes another number there', async () => {
    const { life } = await serverThere()
    const said = watching()
    await expect.poll(() => said).toEqual([`${life} R`])
    await rm(join(folder, 'pid'))
    await new Promise((resolve) => setTimeout(resolve, 300))
    await writeFile(join(folder, 'pid'), `${process.pid}\n`)
    await new Promise((resolve) => setTimeout(resolve, 300))
    expect(said).toEqual([`${life} R`])
  })

  it('is no end either after a new connection, as the script is told which one is meant', async () => {
    const { server, life } = await serverThere()
    await rm(join(folder, 'pid'))
    const said = watching(life.split(' '))
    await expect.poll(() => said).toEqual([`${life} R`])
    server.kill('SIGKILL')
    await expect.poll(() => said.at(-1)).toBe('none')
  })

  it('is nothing where another process has the number of one that ended', async () => {
    const { server } = await serverThere()
    await rm(join(folder, 'pid'))
    const said = watching([String(server.pid), '1'])
    await expect.poll(() => said).toEqual(['none'])
  })

  it('is no end where the host has no file left to open', async () => {
    const { server, life } = await serverThere()
    // From the third look on; what the script begins has files again.
    const script = watchScript
      .replace(
        'while :; do',
        'while :; do looked=$((looked + 1)); [ $looked -ne 3 ] || ulimit -S -n 3; [ $looked -ne 6 ] || echo "6 looks"',
      )
      .replace('sleep "$3"', '(ulimit -S -n 64; sleep "$3")')
    const said = watching(life.split(' '), script)
    await expect.poll(() => said).toEqual([`${life} R`, '6 looks'])
    server.kill('SIGKILL')
    await expect.poll(() => said.at(-1)).toBe('none')
  })
})

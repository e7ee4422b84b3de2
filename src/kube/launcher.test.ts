import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { appendFile, mkdtemp, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

const script = join(import.meta.dirname, 'launcher.sh')
const shells = ['dash', 'bash', 'busybox'].filter((shell) => spawnSync(shell, shell === 'busybox' ? ['sh', '-c', ':'] : ['-c', ':']).status === 0)

let folder: string
let launcher: ChildProcess
let said: string
let ended: Promise<number | null>

async function begin(shell: string, patience = '20'): Promise<void> {
  const [program = '', ...applet] = shell === 'busybox' ? ['busybox', 'sh'] : [shell]
  launcher = spawn(program, [...applet, script, folder, patience], { stdio: ['ignore', 'inherit', 'pipe'] })
  said = ''
  launcher.stderr?.on('data', (part: Buffer) => (said += String(part)))
  ended = new Promise((resolve) => launcher.once('exit', (code) => resolve(code)))
  await vi.waitUntil(() => said.includes('waiting for the word'), { timeout: 10_000 })
}

/** As the agent does: the whole file first, then the word. */
async function run(id: string, ...command: readonly string[]): Promise<void> {
  await writeFile(join(folder, `${id}.command.new`), command.join('\n'))
  await rename(join(folder, `${id}.command.new`), join(folder, `${id}.command`))
  await appendFile(join(folder, 'word'), `run ${id}\n`)
}

const found = (name: string) => vi.waitFor(async () => (await readFile(join(folder, name), 'utf8')).trim(), { timeout: 10_000 })

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'regent-launcher-'))
})
afterEach(async () => {
  launcher.kill('SIGKILL')
  await rm(folder, { recursive: true })
})

describe.each(shells)('The launcher, run by %s,', (shell) => {
  it('runs what the agent says, with every argument as it is, and says with which process and how it ended', async () => {
    await begin(shell)
    await run('a1', 'sh', '-c', 'printf "%s|" "$@" >"$0"; exit 7', join(folder, 'seen'), 'two words', "it's", '$HOME `x` "y" *', '--last')
    expect(await found('a1.ended')).toBe('7')
    expect(Number(await found('a1.pid'))).toBeGreaterThan(1)
    expect(await found('seen')).toBe(`two words|it's|$HOME \`x\` "y" *|--last|`)
  })

  it('says by which signal a server ended, and waits for the next word', async () => {
    await begin(shell)
    await run('a1', 'sleep', '60')
    process.kill(Number(await found('a1.pid')), 'SIGKILL')
    expect(await found('a1.ended')).toBe('137')
    await run('a2', 'true')
    expect(await found('a2.ended')).toBe('0')
  })

  it('does not pass SIGTERM on, tells the agent, and ends when that says so', async () => {
    await begin(shell)
    await run('a1', 'sleep', '60')
    const pid = Number(await found('a1.pid'))
    launcher.kill('SIGTERM')
    await found('terminating')
    expect(() => process.kill(pid, 0)).not.toThrow()
    process.kill(pid, 'SIGKILL')
    expect(await found('a1.ended')).toBe('137')
    await appendFile(join(folder, 'word'), 'quit\n')
    expect(await ended).toBe(0)
  })

  it('kills the server of a pod that ends when the agent is silent, and not while it lives', async () => {
    await begin(shell, '2')
    await run('a1', 'sleep', '60')
    const pid = Number(await found('a1.pid'))
    let beat = 0
    const beating = setInterval(() => void writeFile(join(folder, 'heartbeat'), `${beat++}`), 300)
    launcher.kill('SIGTERM')
    await new Promise((resolve) => setTimeout(resolve, 4_000))
    expect(() => process.kill(pid, 0)).not.toThrow()
    clearInterval(beating)
    expect(await found('a1.ended')).toBe('137')
    expect(await ended).toBe(0)
  })

  it('runs nothing twice, and nothing that it was not told', async () => {
    await begin(shell)
    await run('a1', 'true')
    expect(await found('a1.ended')).toBe('0')
    await appendFile(join(folder, 'word'), 'run a1\nrun a9\nrm -rf /\n')
    await vi.waitUntil(() => said.includes('does not understand "rm"'), { timeout: 10_000 })
    expect(said).toMatch(/a1 ran already.*there is no a9.command/s)
  })

  it('lets nobody else write to it', async () => {
    await begin(shell)
    expect((await stat(join(folder, 'word'))).mode & 0o777).toBe(0o600)
  })
})

import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { constants } from 'node:fs'
import {
  appendFile,
  link,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  truncate,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

const script = join(import.meta.dirname, 'launcher.sh')
const shells = ['dash', 'bash', 'busybox'].filter(
  (shell) => spawnSync(shell, shell === 'busybox' ? ['sh', '-c', ':'] : ['-c', ':']).status === 0,
)

let folder: string
let launcher: ChildProcess
let said: string
let ended: Promise<number | null>

interface With {
  readonly patience?: string
  readonly errorLog?: string
  readonly path?: string | undefined
}

async function begin(
  shell: string,
  { patience = '20', errorLog = '', path = process.env['PATH'] }: With = {},
): Promise<void> {
  const [program = '', ...applet] = shell === 'busybox' ? ['busybox', 'sh'] : [shell]
  launcher = spawn(program, [...applet, script, folder, patience, errorLog], {
    stdio: ['ignore', 'inherit', 'pipe'],
    env: { PATH: path },
    detached: true,
  })
  said = ''
  launcher.stderr?.on('data', (part: Buffer) => (said += String(part)))
  ended = new Promise((resolve) => launcher.once('exit', (code) => resolve(code)))
  await vi.waitUntil(() => said.includes('waiting for the word'), { timeout: 60_000 })
}

/** As the agent does: the whole file first, then the word. */
async function run(id: string, ...command: readonly string[]): Promise<void> {
  await writeFile(join(folder, `${id}.command.new`), command.join('\n'))
  await rename(join(folder, `${id}.command.new`), join(folder, `${id}.command`))
  await appendFile(join(folder, 'word'), `run ${id}\n`)
}

/** What is to run while the server does. */
async function runBeside(id: string, ...command: readonly string[]): Promise<void> {
  await writeFile(join(folder, `${id}.command`), command.join('\n'))
  await appendFile(join(folder, 'beside'), `run ${id}\n`)
}

const found = (name: string) =>
  vi.waitFor(async () => (await readFile(join(folder, name), 'utf8')).trim(), { timeout: 60_000 })

/** The launcher and what it started, by their names: those that still run. */
async function running(): Promise<readonly { readonly pid: number; readonly name: string }[]> {
  const pids = (await readdir('/proc')).map(Number).filter((pid) => pid > 0)
  const stats = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')))
  return stats.flatMap((stat) => {
    const {
      pid,
      name = '',
      state,
      group,
    } = /^(?<pid>\d+) \((?<name>.*)\) (?<state>.) \d+ (?<group>\d+) /s.exec(stat)?.groups ?? {}
    return Number(group) === launcher.pid && state !== 'Z' ? [{ pid: Number(pid), name }] : []
  })
}

/** It may just have ended by itself. */
function killNow(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** Gives a beat to whoever looks now; false where nobody does. */
async function beat(fifo: string, number: number): Promise<boolean> {
  try {
    await using file = await open(fifo, constants.O_WRONLY | constants.O_NONBLOCK)
    await file.write(`${number}`)
    return true
  } catch (error) {
    if (!['ENXIO', 'EPIPE'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
    return false
  }
}

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'regent-launcher-'))
})
afterEach(async () => {
  const killAll = async () => (await running()).map(({ pid }) => killNow(pid))
  await expect.poll(killAll, { timeout: 60_000 }).toEqual([])
  await rm(folder, { recursive: true })
})

describe.each(shells)('The launcher, run by %s,', (shell) => {
  it('runs what the agent says, with every argument as it is, and says with which process and how it ended', async () => {
    await begin(shell)
    await run(
      'a1',
      'sh',
      '-c',
      'printf "%s|" "$@" >"$0"; exit 7',
      join(folder, 'seen'),
      'two words',
      "it's",
      '$HOME `x` "y" *',
      '--last',
    )
    expect(await found('a1.ended')).toBe('7')
    expect(Number(await found('a1.pid'))).toBeGreaterThan(1)
    expect(await found('seen')).toBe(`two words|it's|$HOME \`x\` "y" *|--last|`)
  })

  it('spares a server the public authorities of its image', async () => {
    await begin(shell)
    await run('1', 'sh', '-c', `printf %s "$SSL_CERT_FILE" >${folder}/seen`)
    expect([await found('1.ended'), await found('seen')]).toEqual(['0', '/dev/null'])
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
    // The trap has ended once its watcher sleeps: a shell loses how a child ends while the trap's own programs run.
    const asleep = async () => (await running()).filter(({ name }) => name === 'sleep')
    await expect.poll(asleep, { timeout: 60_000 }).toHaveLength(2)
    process.kill(pid, 'SIGKILL')
    expect(await found('a1.ended')).toBe('137')
    await appendFile(join(folder, 'word'), 'quit\n')
    expect(await ended).toBe(0)
  })

  it('kills the server of a pod that ends when the agent is silent, and not while it lives', async () => {
    await begin(shell, { patience: '2' })
    await run('a1', 'sleep', '60')
    const pid = Number(await found('a1.pid'))
    // A look at the heartbeat waits for the next beat, however late a busy machine lets this process give one.
    const [heartbeat, fifo] = [join(folder, 'heartbeat'), join(folder, 'fifo')]
    spawnSync('mkfifo', [fifo])
    await link(fifo, heartbeat)
    launcher.kill('SIGTERM')
    for (let beats = 0; beats < 4; beats++) {
      await vi.waitUntil(() => beat(fifo, beats))
      await new Promise((resolve) => setTimeout(resolve, 300))
    }
    expect(() => process.kill(pid, 0)).not.toThrow()
    await writeFile(`${heartbeat}.new`, 'the last one')
    await rename(`${heartbeat}.new`, heartbeat)
    // A look that began before waits still.
    const last = setInterval(() => void beat(fifo, 4), 100)
    expect(await found('a1.ended')).toBe('137')
    clearInterval(last)
    expect(await ended).toBe(0)
  })

  it('runs another program beside the server, says how that ended, and takes that along when the launcher ends', async () => {
    await begin(shell)
    await run('a1', 'sleep', '60')
    const server = Number(await found('a1.pid'))
    await runBeside('b1', 'sh', '-c', 'exit 5')
    expect(await found('b1.ended')).toBe('5')
    await runBeside('b2', 'sleep', '61')
    const beside = Number(await found('b2.pid'))
    expect(() => process.kill(server, 0)).not.toThrow()
    // A word of the server's own is not kept waiting by what runs beside.
    process.kill(server, 'SIGKILL')
    expect(await found('a1.ended')).toBe('137')
    await run('a2', 'true')
    expect(await found('a2.ended')).toBe('0')
    await appendFile(join(folder, 'word'), 'quit\n')
    expect(await ended).toBe(0)
    await vi.waitFor(async () => expect((await running()).map(({ pid }) => pid)).not.toContain(beside), {
      timeout: 60_000,
    })
  })

  it('that is killed leaves nobody behind who would run what is said', async () => {
    await begin(shell)
    launcher.kill('SIGKILL')
    await ended
    await vi.waitFor(async () => expect(await running()).toEqual([]), { timeout: 60_000 })
  })

  it('runs nothing twice, and nothing that it was not told', async () => {
    await begin(shell)
    await run('a1', 'true')
    expect(await found('a1.ended')).toBe('0')
    await appendFile(join(folder, 'word'), 'run a1\nrun a9\nrm -rf /\n')
    await vi.waitUntil(() => said.includes('does not understand "rm"'), { timeout: 60_000 })
    expect(said).toMatch(/a1 ran already.*there is no a9.command/s)
  })

  it('lets nobody else write to it', async () => {
    await begin(shell)
    expect((await stat(join(folder, 'word'))).mode & 0o777).toBe(0o600)
  })
})

describe.each(shells)('mysqld’s error log, with the launcher run by %s,', (shell) => {
  let errorLog: string
  const shown = (text: string) => vi.waitUntil(() => said.includes(text), { timeout: 60_000 })
  const wait = (id: string) => run(id, 'sh', '-c', 'read -r word <"$0"', join(folder, 'go'))

  beforeEach(async () => {
    errorLog = join(folder, 'error.log')
    spawnSync('mkfifo', [join(folder, 'go')])
  })

  it('is shown from when the server starts, and so is one that is cut or takes its place', async () => {
    await begin(shell, { errorLog })
    await run('init', 'true')
    expect(await found('init.ended')).toBe('0')
    expect(said).not.toContain(errorLog)
    await writeFile(errorLog, 'of an earlier life\n')
    await wait('a1')
    await found('a1.pid')
    await appendFile(errorLog, 'ready for connections\n')
    await shown('ready for connections')
    await rename(errorLog, `${errorLog}.1`)
    await writeFile(errorLog, 'of a file that took its place\n')
    await shown('of a file that took its place')
    await truncate(errorLog)
    // As long as before, it could be taken for what was there.
    await new Promise((resolve) => setTimeout(resolve, 1_500))
    await appendFile(errorLog, 'after a cut\n')
    await shown('after a cut')
    expect(said).not.toContain('of an earlier life')
  })

  it('is no longer followed by anybody when the launcher ends', async () => {
    await writeFile(errorLog, '')
    await begin(shell, { errorLog })
    await run('a1', 'true')
    expect(await found('a1.ended')).toBe('0')
    // A helper that put `a1.ended` in place may take a moment longer to end.
    // The launcher, the one that runs programs beside, and the follower.
    await expect.poll(running).toHaveLength(3)
    await appendFile(join(folder, 'word'), 'quit\n')
    expect(await ended).toBe(0)
    await expect.poll(running, { timeout: 60_000 }).toEqual([])
  })

  it('is followed again from the next server on where its follower ended, and no server ends with that', async () => {
    await writeFile(errorLog, '')
    await begin(shell, { errorLog })
    await wait('a1')
    const pids = [launcher.pid, Number(await found('a1.pid'))]
    for (const { pid } of (await running()).filter((one) => !pids.includes(one.pid))) killNow(pid)
    await expect.poll(running, { timeout: 60_000 }).toHaveLength(pids.length)
    await appendFile(errorLog, 'while nobody looked\n')
    await appendFile(join(folder, 'go'), 'on\n')
    expect(await found('a1.ended')).toBe('0')
    await run('a2', 'sh', '-c', 'echo "of the next one" >>"$0"', errorLog)
    await shown('of the next one')
    expect(said).not.toContain('while nobody looked')
  })

  // BusyBox’s shell brings its own.
  if (shell !== 'busybox')
    it('is only on the volume where an image has no tail: that is said once, and servers run', async () => {
      const path = join(folder, 'bin')
      await mkdir(path)
      for (const program of [shell, 'cat', 'date', 'ls', 'mkfifo', 'mv', 'rm', 'sleep'])
        await symlink(
          spawnSync('sh', ['-c', `command -v ${program}`], { encoding: 'utf8' }).stdout.trim(),
          join(path, program),
        )
      await begin(shell, { errorLog, path })
      for (const id of ['a1', 'a2']) {
        await run(id, shell, '-c', 'exit 3')
        expect(await found(`${id}.ended`)).toBe('3')
      }
      expect(said.match(/has no tail/g)).toHaveLength(1)
      expect(said).not.toContain('not found')
    })
})

import { spawn } from 'node:child_process'
import { RegentError } from '#common/errors/errors.ts'
import { reported, say } from '#common/sentence/sentence.ts'
import type { FarShell, Heard, Running, RunOptions } from './ssh.ts'
import type { Ran } from './worker.ts'

/** Scripts of a far host, run on this machine; a test says what becomes of them. */
export class ShellHere implements FarShell {
  failure: RegentError | null = null
  /** Scripts that were run, the last one last. */
  readonly ran: string[] = []
  /** What the next runs fail with. */
  readonly fails: RegentError[] = []
  /** What the script that is followed says. */
  heard: Heard | undefined
  /** What that script was told. */
  told: readonly string[] = []
  /** Looked at while a script runs. */
  during: (script: string, args: readonly string[]) => void = () => undefined

  async run(script: string, args: readonly string[], { input }: RunOptions = {}): Promise<Ran> {
    this.ran.push(script)
    this.during(script, args)
    const error = this.fails.shift() ?? this.failure
    if (error) throw error
    const child = spawn('sh', ['-c', script, 'sh', ...args], { stdio: ['pipe', 'pipe', 'pipe'] })
    const [stdout, stderr]: [Buffer[], Buffer[]] = [[], []]
    child.stdout.on('data', (chunk: Buffer) => stdout.push(chunk))
    child.stderr.on('data', (chunk: Buffer) => stderr.push(chunk))
    child.stdin.on('error', () => undefined)
    child.stdin.end(input)
    const code = await new Promise((resolve) => child.once('close', resolve))
    const said = Buffer.concat(stderr).toString('utf8')
    if (code !== 0) throw new RegentError('REGENT_SSH_DOWN', say`here: it answered ${String(code)}: ${reported(said)}`)
    return { stdout: Buffer.concat(stdout), stderr: said }
  }

  follow(_script: string, args: readonly string[], heard: Heard): Promise<Running> {
    if (this.failure) return Promise.reject(this.failure)
    this.told = args
    this.heard = heard
    return Promise.resolve({ stop: () => heard.ended() })
  }

  close(): void {
    this.failure = new RegentError('REGENT_SSH_DOWN', say`closed`)
  }
}

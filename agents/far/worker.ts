import type { NodeSSH } from 'node-ssh'
import { RegentError } from '#common/errors/errors.ts'
import { reported, say } from '#common/sentence/sentence.ts'
import type { Timers } from '#common/ports/ports.ts'

export interface Ran {
  readonly stdout: Buffer
  /** What was said beside it: a checksum, or a complaint. */
  readonly stderr: string
}

/** The end of a job stands in what it prints: its mark, and for the output how it ended. */
interface Job {
  readonly mark: string
  readonly stdout: Buffer[]
  readonly input: Buffer | undefined
  stderr: string
  tail: string
  readonly ended: PromiseWithResolvers<Ran>
}

interface Channel {
  write(data: string | Buffer): unknown
  close(): void
  on(event: 'data', heard: (chunk: Buffer) => void): unknown
  on(event: 'close', heard: () => void): unknown
  on(event: 'error', heard: (error: Error) => void): unknown
  readonly stderr: { on(event: 'data', heard: (chunk: Buffer) => void): unknown }
}

export interface WorkerPorts {
  /** Called whenever the host says anything. */
  readonly heard: () => void
  /** Another one each time: nothing that a job prints looks like it. */
  readonly newMark: () => string
  readonly timers: Pick<Timers, 'after'>
}

/** A login reads files of its user's first: some of these lie on a server that does not answer. */
const loginMs = 10_000

const markLength = 96

/**
 * A login shell of a far host that stays and runs one script after the other. A login may take a second, as its shell
 * reads files of its user's first, and many logins at once keep a host from everything else.
 */
export class Worker {
  /** Resolves once nothing runs here any more. */
  readonly gone: Promise<void>
  readonly #channel: Channel
  readonly #newMark: () => string
  #job: Job | null = null
  #isGone = false
  /** Where a script runs that does not end. */
  #lines: ((chunk: Buffer) => void) | null = null

  private constructor(channel: Channel, { heard, newMark }: WorkerPorts) {
    this.#channel = channel
    this.#newMark = newMark
    channel.on('data', (chunk) => {
      heard()
      if (this.#lines) this.#lines(chunk)
      else this.#hear(chunk)
    })
    channel.stderr.on('data', (chunk) => this.#hearBeside(chunk))
    // As of a write to a shell that is just ending: unheard it would end this process, with all agents in it.
    channel.on('error', () => channel.close())
    this.gone = new Promise((resolve) => channel.on('close', () => resolve()))
    void this.gone.then(() => {
      this.#isGone = true
      this.#job?.ended.reject(new RegentError('REGENT_SSH_DOWN', say`the shell there ended`))
    })
  }

  /** The worker waits for a script. */
  get isFree(): boolean {
    return this.#job === null && this.#lines === null && !this.#isGone
  }

  /**
   * Resolves when it waits for a script. What a login prints is not taken for an answer. Rejects with `REGENT_SSH_DOWN`
   * where the login does not end.
   */
  static async open(ssh: NodeSSH, given: WorkerPorts): Promise<Worker> {
    let worker: Worker | undefined
    const login = async (): Promise<Worker> => {
      worker = new Worker(await channelOf(ssh), given)
      await worker.run(':', [])
      return worker
    }
    const late = Promise.withResolvers<never>()
    const timer = given.timers.after(loginMs, () =>
      late.reject(new RegentError('REGENT_SSH_DOWN', say`the login there did not end within ${loginMs} ms`)),
    )
    const opening = login()
    try {
      return await Promise.race([opening, late.promise])
    } catch (error) {
      worker?.stop()
      opening.then(
        (one) => one.stop(),
        () => undefined,
      )
      throw error
    } finally {
      timer.cancel()
    }
  }

  /** Runs one script at a time. Rejects with what a script that failed has said. */
  run(script: string, args: readonly string[], input?: Buffer): Promise<Ran> {
    const mark = this.#newMark()
    const job: Job = { mark, stdout: [], input, stderr: '', tail: '', ended: Promise.withResolvers() }
    this.#job = job
    const words = `set -- ${args.map(quoted).join(' ')}\n${script}\n`
    // What the script leaves of its input is read nevertheless: it would be taken for the next script. And a shell may
    // read ahead: nothing is sent before it is done with the script.
    const whole =
      input === undefined
        ? `(${words}) </dev/null`
        : `printf '${mark} go\\n' >&2; head -c ${input.length} | { (${words}); code=$?; cat >/dev/null; (exit $code); }`
    this.#channel.write(`${whole}; printf '\\n${mark} %s\\n' "$?"; printf '${mark} end\\n' >&2\n`)
    return job.ended.promise
  }

  /** Nothing else runs here from now on. */
  follow(script: string, args: readonly string[], heard: (chunk: Buffer) => void): void {
    this.#lines = heard
    this.#channel.write(`set -- ${args.map(quoted).join(' ')}\n${script}\nexit\n`)
  }

  stop(): void {
    this.#channel.close()
  }

  #hear(chunk: Buffer): void {
    const job = this.#job
    if (job === null) return
    job.stdout.push(chunk)
    job.tail = `${job.tail}${chunk.subarray(-markLength).toString('latin1')}`.slice(-markLength)
    this.#endIfWhole(job)
  }

  #hearBeside(chunk: Buffer): void {
    const job = this.#job
    if (job === null) return
    job.stderr += chunk.toString('utf8')
    const go = `${job.mark} go\n`
    if (job.input !== undefined && job.stderr.includes(go)) {
      job.stderr = job.stderr.replace(go, '')
      this.#channel.write(job.input)
    }
    this.#endIfWhole(job)
  }

  /** Both streams must have come to their end: nothing says which one does so first. */
  #endIfWhole({ mark, tail, stdout, stderr, ended }: Job): void {
    const [end, code] = new RegExp(`\\n${mark} (\\d+)\\n$`).exec(tail) ?? []
    const said = stderr.indexOf(`${mark} end\n`)
    if (end === undefined || said === -1) return
    this.#job = null
    const complaint = stderr.slice(0, said)
    if (code !== '0')
      ended.reject(new RegentError('REGENT_SSH_DOWN', say`it answered ${code}: ${reported(complaint.trim())}`))
    else ended.resolve({ stdout: Buffer.concat(stdout).subarray(0, -end.length), stderr: complaint })
  }
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`
}

function channelOf({ connection }: NodeSSH): Promise<Channel> {
  return new Promise((resolve, reject) => {
    if (connection === null) return reject(new RegentError('REGENT_SSH_DOWN', say`the connection was lost`))
    connection.exec('exec sh -s', (error, made) => (error ? reject(error) : resolve(made)))
  })
}

import { spawn } from 'node:child_process'
import { mkdir, readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isAlive, readProcessStat, type ProcessIdentity } from '#common/process/process-stat.ts'
import { say, text, type Sentence } from '#common/sentence/sentence.ts'
import { replaceFile } from '#local/files/durable-file.ts'
import { processesEndingWith } from '#local/processes/cluster-processes.ts'
import { endProcess } from '#local/processes/process-identity.ts'
import type { RouterFiles } from './haproxy-config.ts'
import { exchange } from './runtime-socket.ts'

export interface HaproxyOptions {
  readonly argv: readonly string[]
  readonly files: RouterFiles
  /** Contents of configuration and script. */
  readonly config: string
  readonly script: string
  readonly log: (sentence: Sentence) => void
  /** Called each time that an HAProxy does not start, once a second. */
  readonly failed: (sentence: Sentence) => void
  /** Called when an HAProxy answers: a new process, or a process that ran before. */
  readonly began: () => void
}

const answerMs = 2_000
const againMs = 1_000
const lookMs = 20
const graceMs = 2_000

/**
 * The HAProxy of one router: kept running, and led by its runtime socket. An HAProxy that outlived its router is taken
 * over: two processes that listen at one address would share its sessions.
 */
export class Haproxy {
  readonly #options: HaproxyOptions
  #identity: ProcessIdentity | undefined
  #starting: Promise<void> | undefined
  #launching: Promise<void> | undefined
  /** An HAProxy that ends as soon as it has answered must not be started without a pause. */
  #notBeforeMs = 0
  #stopped = false

  constructor(options: HaproxyOptions) {
    this.#options = options
  }

  get pid(): number | undefined {
    return this.#identity?.pid
  }

  start(): Promise<void> {
    return (this.#starting ??= this.#start())
  }

  async #start(): Promise<void> {
    const { files, config, script } = this.#options
    const before = await Promise.all([readIfThere(files.config), readIfThere(files.script)])
    const running = await this.#runningNow()
    if (running !== undefined && before[0] === config && before[1] === script) {
      this.#identity = running
      this.#options.log(say`HAProxy runs already with pid ${running.pid}, and is led on`)
      this.#options.began()
      return
    }
    if (running !== undefined) await endProcess(running, graceMs)
    await mkdir(dirname(files.config), { recursive: true, mode: 0o700 })
    await replaceFile(files.config, config)
    await replaceFile(files.script, script)
    await this.#launchOnce()
  }

  /** Starts HAProxy again where it is gone. */
  async keep(): Promise<void> {
    if (this.#stopped || (this.#identity !== undefined && isAlive(this.#identity))) return
    if (this.#launching === undefined)
      this.#options.log(say`HAProxy is gone, and its sessions with it; it is started again`)
    await this.#launchOnce()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    // A start under way would else leave an HAProxy that nobody leads and nobody ends.
    await this.#starting?.catch(() => undefined)
    await this.#launching
    if (this.#identity !== undefined) await endProcess(this.#identity, graceMs)
  }

  async restart(): Promise<void> {
    if (this.#launching !== undefined) return this.#launching
    if (this.#identity !== undefined) await endProcess(this.#identity, graceMs)
    await this.keep()
  }

  /** Runs commands in one line, and gives HAProxy's answer. */
  tell(commands: readonly string[]): Promise<string> {
    return exchange(this.#options.files.socket, `${commands.join('; ')}\n`, { withinMs: answerMs })
  }

  #launchOnce(): Promise<void> {
    return (this.#launching ??= this.#launch().finally(() => (this.#launching = undefined)))
  }

  /** A try waits for no later try: an HAProxy that never starts would fill the memory with tries. */
  async #launch(): Promise<void> {
    for (;;) {
      await sleep(Math.max(0, this.#notBeforeMs - performance.now()))
      if (this.#stopped || (await this.#begins())) return
    }
  }

  async #begins(): Promise<boolean> {
    const { argv, files, log, failed, began } = this.#options
    const [program = '', ...rest] = argv
    const words = ['-q', '-db', '-f', files.config]
    // A process that runs already does not answer. Two processes would share the sessions of one address, and the
    // router leads only one of them.
    await Promise.all((await processesEndingWith(words)).map((one) => endProcess(one, graceMs)))
    // HAProxy gets a session of its own: a router that is killed or upgraded ends nobody's sessions.
    const child = spawn(program, [...rest, ...words], {
      // The standard output is given once more: `haproxy-config.ts` logs there.
      stdio: ['ignore', 'inherit', 'inherit', 1],
      detached: true,
    })
    const over = new Promise<string>((resolve) => {
      child.once('error', (error) => resolve(error.message))
      child.once('exit', (code, signal) => resolve(signal ?? `exit code ${code}`))
    })
    child.unref()
    this.#identity = identityOf(child.pid)
    const outcome = await Promise.race([over, this.#answers()])
    if (outcome === 'answers') {
      log(say`HAProxy runs with pid ${child.pid ?? 0}`)
      began()
      this.#notBeforeMs = performance.now() + againMs
      void over.then(() => this.keep())
      return true
    }
    failed(say`HAProxy does not start (${text(outcome)}); it is tried again in ${againMs / 1_000} s`)
    if (this.#identity !== undefined) await endProcess(this.#identity, graceMs)
    this.#identity = undefined
    this.#notBeforeMs = performance.now() + againMs
    return false
  }

  async #answers(): Promise<'answers' | 'no answer'> {
    const begun = this.#identity
    const until = performance.now() + answerMs * 5
    for (; performance.now() < until && this.#identity === begun; await sleep(lookMs)) {
      const running = await this.#runningNow()
      if (running !== undefined && running.pid === begun?.pid) return 'answers'
    }
    return 'no answer'
  }

  async #runningNow(): Promise<ProcessIdentity | undefined> {
    const answer = await this.tell(['show info']).catch(() => '')
    return identityOf(Number(/^Pid: (\d+)$/m.exec(answer)?.[1]))
  }
}

function identityOf(pid: number | undefined): ProcessIdentity | undefined {
  const startTicks = pid === undefined || Number.isNaN(pid) ? undefined : readProcessStat(pid)?.startTicks
  return pid === undefined || startTicks === undefined ? undefined : { pid, startTicks }
}

async function readIfThere(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch(() => undefined)
}

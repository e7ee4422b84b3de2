import { RegentError } from '#common/errors/errors.ts'
import { say, type Sentence } from '#common/sentence/sentence.ts'
import { bootIdScript, killScript, startScript, syncScript, watchScript } from '#agents/far/scripts.ts'
import type { FarShell, Heard, RunOptions, Running } from '#agents/far/ssh.ts'
import type { Machine } from '../machine.ts'
import type { ProcessLife } from '../process-life.ts'
import type { VirtualTime } from '../virtual-time.ts'
import type { FarHost } from './host.ts'

const connectMs = 3_000
const runMs = 5_000
/** A host that was just refused, or did not answer, is not asked again at once. */
const restMs = 1_000
/** A connection over which nothing came for so long is lost. */
const silentMs = 2_000
const lookMs = 250

interface Ports {
  readonly time: VirtualTime
  readonly life: ProcessLife
  readonly host: FarHost
}

type Ran = Awaited<ReturnType<FarShell['run']>>

/** What the scripts of a far agent do on its host, over a connection that can be lost. Its agent's death ends it. */
export class SimulatedShell implements FarShell {
  readonly #machine: Machine
  readonly #ports: Ports
  #failed: { readonly error: RegentError; readonly atMs: number } | null = null
  #connection: { heardAtMs: number; readonly ends: Set<() => void> } | null = null
  #connecting: Promise<void> | null = null

  constructor(machine: Machine, ports: Ports) {
    this.#machine = machine
    this.#ports = ports
  }

  get failure(): RegentError | null {
    return this.#connection === null ? (this.#failed?.error ?? null) : null
  }

  async run(script: string, args: readonly string[], { deadlineMs = runMs }: RunOptions = {}): Promise<Ran> {
    const { host } = this.#ports
    await this.#connected()
    const lost = Promise.withResolvers<never>()
    lost.promise.catch(() => undefined)
    const end = (): void => lost.reject(down(say`the connection was lost`))
    this.#connection?.ends.add(end)
    const works = async (): Promise<Ran> => {
      if (!(await host.ssh.pass(deadlineMs))) throw down(say`no answer within ${deadlineMs} ms`)
      const said = await this.#act(script, args)
      if (!(await host.ssh.pass(deadlineMs))) throw down(say`no answer within ${deadlineMs} ms`)
      return { stdout: Buffer.from(said), stderr: '' }
    }
    try {
      return await Promise.race([works(), lost.promise])
    } finally {
      this.#connection?.ends.delete(end)
    }
  }

  async follow(script: string, args: readonly string[], { line, ended }: Heard): Promise<Running> {
    if (script !== watchScript) throw new Error('nothing else is followed')
    await this.#connected()
    const { life } = this.#ports
    let isOver = false
    const over = (): void => {
      if (isOver) return
      isOver = true
      this.#connection?.ends.delete(over)
      life.enter(ended)
    }
    this.#connection?.ends.add(over)
    this.#watch(
      Number(args[2]) * 1_000,
      (text) => life.enter(() => line(text)),
      () => isOver,
    )
    return { stop: over }
  }

  close(): void {
    this.#lose(say`closed`)
  }

  /** As `watchScript`: the boot id, each change, and a dot every second. Nothing overtakes anything. */
  #watch(everyMs: number, line: (text: string) => void, isOver: () => boolean): void {
    const { time, life, host } = this.#ports
    let last = ''
    const begins = [`boot ${this.#bootId()}`]
    let saidAtMs = -Infinity
    const isEnded = (): boolean => isOver() || life.isDead
    const look = async (): Promise<void> => {
      const now = this.#shown()
      const said = [
        ...begins.splice(0),
        ...(now === last ? [] : [now]),
        ...(time.nowMs - saidAtMs >= 1_000 ? ['. 10000000'] : []),
      ]
      last = now
      if (said.length > 0) saidAtMs = time.nowMs
      if (said.length > 0 && !(await host.ssh.pass(Infinity))) return
      if (!isEnded()) for (const text of said) line(text)
    }
    const again = (): void => {
      if (!isEnded()) void look().then(() => time.after(everyMs, again))
    }
    again()
  }

  #bootId(): string {
    return `boot-${this.#machine.bootNumber}`
  }

  /** Its pid file is there once it is up. */
  #shown(): string {
    const { mysqld } = this.#machine
    if (mysqld === null || mysqld.state === 'dead' || mysqld.state === 'starting') return 'none'
    const letter = mysqld.state === 'frozen' && !this.#machine.hangsUnseen ? 'T' : 'R'
    return `${mysqld.pid} ${mysqld.pid} ${letter}`
  }

  async #act(script: string, args: readonly string[]): Promise<string> {
    const machine = this.#machine
    switch (script) {
      case bootIdScript:
        return `${this.#bootId()}\n`
      case killScript:
        if (String(machine.mysqld?.pid) === args[0]) machine.mysqld?.die()
        return ''
      case syncScript:
        if (machine.folder !== undefined) machine.folder.syncedRelayLog = machine.folder.relayLog.length
        return ''
      case startScript:
        return this.#start()
      default:
        return ''
    }
  }

  async #start(): Promise<string> {
    this.#ports.host.startMysqld()
    while (this.#machine.mysqld?.state === 'starting') await this.#sleep(20)
    if (this.#machine.mysqld?.state === 'dead') throw down(say`mysqld ended before it was up`)
    return ''
  }

  #connected(): Promise<void> {
    if (this.#connection !== null) return Promise.resolve()
    this.#connecting ??= this.#connect().finally(() => (this.#connecting = null))
    return this.#connecting
  }

  async #connect(): Promise<void> {
    const { time, host } = this.#ports
    if (this.#failed !== null && time.nowMs - this.#failed.atMs < restMs) throw this.#failed.error
    if (!(await host.ssh.pass(connectMs))) {
      this.#failed = { error: down(say`no connection within ${connectMs} ms`), atMs: time.nowMs }
      throw this.#failed.error
    }
    this.#failed = null
    const connection = { heardAtMs: time.nowMs, ends: new Set<() => void>() }
    this.#connection = connection
    const look = (): void => {
      if (this.#connection !== connection || this.#ports.life.isDead) return
      if (!host.ssh.isCut) connection.heardAtMs = time.nowMs
      if (time.nowMs - connection.heardAtMs >= silentMs) return this.#lose(say`nothing came for ${silentMs} ms`)
      time.after(lookMs, look)
    }
    look()
  }

  #lose(why: Sentence): void {
    const { time } = this.#ports
    const ends = this.#connection?.ends ?? []
    this.#connection = null
    this.#failed = { error: down(why), atMs: time.nowMs }
    for (const end of [...ends]) end()
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.#ports.time.after(ms, resolve))
  }
}

function down(why: Sentence): RegentError {
  return new RegentError('REGENT_SSH_DOWN', why)
}

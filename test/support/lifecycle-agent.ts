import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { request, type Agent, type RequestOptions } from 'node:http'
import { createInterface } from 'node:readline'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ActionResponse } from '#agents/lifecycle/wire/calls.ts'

const main = join(import.meta.dirname, '..', '..', 'src', 'main.ts')
const saidWithinMs = 120_000
const endsWithinMs = 30_000
/** Of a log of thousands of calls nobody looks at each. */
const longestMemory = 2_000

export interface LifecycleAgentOptions {
  readonly environment: Readonly<Record<string, string>>
  readonly options?: readonly string[]
  /** Goes before the command line. */
  readonly within?: readonly string[]
}

type Line = Readonly<Record<string, unknown>> & { readonly msg: string }

/** `regent lifecycle-agent` as a process of its own, as it is shipped, on loopback. */
export class LifecycleAgent {
  readonly pid: number
  readonly #child: ChildProcess
  readonly #lines: Line[] = []
  #errors = ''

  private constructor(child: ChildProcess, pid: number) {
    this.#child = child
    this.pid = pid
  }

  static async start({ environment, options = [], within = [] }: LifecycleAgentOptions): Promise<LifecycleAgent> {
    const argv = [...within, process.execPath, main, 'lifecycle-agent', '--address', '127.0.0.1', ...options]
    const [program = '', ...given] = argv
    const { PATH = '', HOME = '' } = process.env
    const child = spawn(program, given, { env: { PATH, HOME, ...environment }, stdio: ['ignore', 'pipe', 'pipe'] })
    const abandoned = (): void => void child.kill('SIGKILL')
    process.once('exit', abandoned)
    child.once('exit', () => process.off('exit', abandoned))
    await once(child, 'spawn')
    const agent = new LifecycleAgent(child, child.pid ?? 0)
    createInterface(child.stdout).on('line', (line) => agent.#hear(line))
    child.stderr.on('data', (chunk: Buffer) => (agent.#errors = (agent.#errors + chunk.toString()).slice(-10_000)))
    return agent
  }

  /** What it wrote to standard error, where nothing belongs: its log is standard output. */
  get errors(): string {
    return this.#errors
  }

  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null
  }

  /** The first line of the log whose message begins so. */
  async said(beginning: string): Promise<Line> {
    for (const began = performance.now(); performance.now() - began < saidWithinMs; await sleep(10)) {
      const found = this.#lines.find(({ msg }) => msg.startsWith(beginning))
      if (found !== undefined) return found
      if (this.hasEnded) break
    }
    throw new Error(`the lifecycle agent did not say "${beginning}"; it said: ${this.#lastWords()}`)
  }

  /** Host and port of HTTP, or of streams. */
  async address(of: 'HTTP' | 'streaming' = 'HTTP'): Promise<{ readonly host: string; readonly port: number }> {
    const { address } = await this.said(`${of} listens`)
    const [host = '', port] = String(address).split(':')
    return { host, port: Number(port) }
  }

  /** Ends in order. What does not end in time is killed, and an error tells so. */
  async end(): Promise<void> {
    if (this.hasEnded) return
    const gone = once(this.#child, 'exit')
    this.#child.kill('SIGTERM')
    const isLate = await Promise.race([gone.then(() => false), sleep(endsWithinMs, true, { ref: false })])
    if (!isLate) return
    this.#child.kill('SIGKILL')
    await gone
    throw new Error(`the lifecycle agent did not end within ${endsWithinMs / 1_000} s; it said: ${this.#lastWords()}`)
  }

  #hear(line: string): void {
    const said = lineOf(line)
    if (said.msg === 'answered') return
    this.#lines.push(said)
    if (this.#lines.length > longestMemory) this.#lines.splice(longestMemory / 2, 1)
  }

  #lastWords(): string {
    const last = this.#lines.slice(-20).map(({ msg }) => msg)
    return [...last, this.#errors].join('\n').slice(-3_000)
  }
}

function lineOf(line: string): Line {
  try {
    return JSON.parse(line) as Line
  } catch {
    return { msg: line }
  }
}

export interface Answer {
  readonly status: number | undefined
  readonly text: string
}

export interface CallOptions {
  /** Host and port, or the path of a socket. */
  readonly at: Pick<RequestOptions, 'host' | 'port' | 'socketPath'>
  /** Connections that are kept; without it each call has its own. */
  readonly connections?: Agent | undefined
  readonly headers?: Readonly<Record<string, string>>
}

/** Sends a body as it is. Rejects where the connection broke before the answer was whole. */
export function postAction(body: string | Buffer, { at, connections, headers }: CallOptions): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(
      { ...at, path: '/v1.0/action', method: 'POST', agent: connections ?? false, headers: headers ?? {} },
      (incoming) => {
        text(incoming).then((read) => resolve({ status: incoming.statusCode, text: read }), reject)
      },
    )
    sent.on('error', reject).end(body)
  })
}

/** Calls an action, whose answer must be one of an agent. */
export async function callAction(call: object, options: CallOptions): Promise<ActionResponse> {
  const { status, text: read } = await postAction(JSON.stringify(call), options)
  if (status !== 200) throw new Error(`the agent answered with ${status}: ${read.slice(0, 500)}`)
  return JSON.parse(read) as ActionResponse
}

/** What the command of an action wrote. */
export function outputOf({ output = '' }: ActionResponse): string {
  return Buffer.from(output, 'base64').toString()
}

import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Prepared } from '../support/client-drivers.ts'

/** What a driver did at one word, and how that ended. */
export interface Said {
  /** `ok`, MySQL's code, or what the driver has in its place. */
  readonly code: string
  readonly ms: number
  readonly text: string
}

const deadlineMs = 60_000

/** A program in the language of a driver, which does what it is told by one word for each line. */
export class DriverProgram {
  readonly #child: ChildProcessWithoutNullStreams
  readonly #lines: AsyncIterator<string, undefined>
  #errors = ''

  constructor([program = '', ...args]: Prepared, environment: NodeJS.ProcessEnv) {
    this.#child = spawn(program, args, { env: { ...process.env, ...environment } })
    this.#child.stderr.setEncoding('utf8').on('data', (part: string) => (this.#errors += part))
    this.#lines = createInterface(this.#child.stdout)[Symbol.asyncIterator]() as AsyncIterator<string, undefined>
  }

  async tell(word: 'prepare' | 'plain' | 'kept' | 'new'): Promise<Said> {
    this.#child.stdin.write(`${word}\n`)
    const late = setTimeout(() => this.end(), deadlineMs)
    const next = await this.#lines.next()
    clearTimeout(late)
    if (next.done === true) throw new Error(`the program ended at "${word}": ${this.#errors.slice(-400)}`)
    const [, code = '', ms = '', text = ''] = next.value.split('\t')
    return { code, ms: Number(ms), text }
  }

  end(): void {
    this.#child.kill('SIGKILL')
  }
}

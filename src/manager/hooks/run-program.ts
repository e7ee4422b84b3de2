import { spawn, type ChildProcess } from 'node:child_process'
import type { Readable } from 'node:stream'
import type { Timers } from '#common/ports/ports.ts'
import { isGroupAlive, killGroup, whyNotStarted } from '#common/process/process-group.ts'
import { duration } from '#common/text/words.ts'
import type { HookEnd } from '../loop/hooks/hook-port.ts'

export interface Program {
  readonly argv: readonly string[]
  readonly environment: Readonly<Record<string, string>>
  /** For standard input. */
  readonly input: string
  readonly deadlineMs: number
}

/** Characters of a program's output that are kept: the end, where the program says why it failed. */
const keptCharacters = 4_096
/** What a program printed last may be on its way still. */
const lastWordsMs = 100
/** What it left behind is looked for so often: the number of a group that has ended may be another's later. */
const lookMs = 1_000

/**
 * Runs a program to its end. The program leads a process group of its own. At the deadline the whole group is ended,
 * and what the program left behind as well; what cannot be ended is not waited for. Never rejects.
 */
export async function runProgram(program: Program, timers: Timers): Promise<HookEnd & { readonly again: boolean }> {
  const { argv, environment, input, deadlineMs } = program
  const [file = '', ...parameters] = argv
  let isLate = false
  let trouble = ''
  const givenUp = Promise.withResolvers<End>()
  try {
    const child = spawn(file, parameters, { env: environment, stdio: 'pipe', detached: true })
    const printed = [child.stderr, child.stdout].map(lastOf)
    child.stdin.on('error', () => undefined)
    child.stdin.end(input)
    const deadline = timers.after(deadlineMs, () => {
      isLate = true
      trouble = killGroup(child.pid)
      if (trouble !== '') return givenUp.resolve({ code: null, by: null })
      timers.after(lookMs, () => {
        trouble = 'SIGKILL has not ended it yet'
        givenUp.resolve({ code: null, by: null })
      })
    })
    const { code, by } = await Promise.race([endOf(child, timers), givenUp.promise])
    const words = printed.map((last) => last()).find((line) => line !== '') ?? ''
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy()
    if (isLate || !isGroupAlive(child.pid)) deadline.cancel()
    else watchLeftovers(child, timers, deadline.cancel.bind(deadline))
    if (isLate) return failed(`did not end within ${duration(deadlineMs)}, and ${whatBecame(trouble)}`)
    if (code === 0) return { isDone: true, said: `exit 0${after(words)}`, again: false }
    return { ...failed(`${by === null ? `exit ${code}` : `ended by ${by}`}${after(words)}`), again: true }
  } catch (error) {
    return failed(whyNotStarted(file, error as NodeJS.ErrnoException))
  }
}

function whatBecame(trouble: string): string {
  return trouble === '' ? 'was ended with all that it started' : `cannot be ended: ${trouble}`
}

function failed(said: string) {
  return { isDone: false, said, again: false }
}

function after(words: string): string {
  return words === '' ? '' : `: ${words}`
}

interface End {
  readonly code: number | null
  readonly by: string | null
}

/** The program has ended, and its last words are read; what it started may have its outputs open still. */
function endOf(child: ChildProcess, timers: Timers): Promise<End> {
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code, by) => {
      const end = { code, by }
      const timer = timers.after(lastWordsMs, () => resolve(end))
      child.once('close', () => (timer.cancel(), resolve(end)))
    })
  })
}

/** Reads a stream to its end, however much there is. @returns its last line, shortened */
function lastOf(stream: Readable): () => string {
  let kept = ''
  stream.setEncoding('utf8')
  stream.on('error', () => undefined)
  stream.on('data', (more: string) => {
    kept = (kept + more).slice(-keptCharacters)
  })
  return () => {
    const lines = kept.split('\n').map((line) => line.replaceAll(/\p{Cc}/gu, ' ').trim())
    return lines.findLast((line) => line !== '')?.slice(0, 160) ?? ''
  }
}

function watchLeftovers(child: ChildProcess, timers: Timers, forget: () => void): void {
  const look = timers.every(lookMs, () => {
    if (isGroupAlive(child.pid)) return
    look.cancel()
    forget()
  })
}

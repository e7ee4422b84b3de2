import { say, type Sentence } from '#common/sentence/sentence.ts'
import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import { described, RegentError } from '#common/errors/errors.ts'

/** A program that was started, and how it ends. */
export interface RunningProgram {
  readonly pid: number
  /** Resolves once it has ended. */
  readonly ended: Promise<Ending>
}

/** As a shell tells it: one of them is null. */
export interface Ending {
  readonly status: number | null
  readonly signal: string | null
}

/** `ended with status 1`, `was ended by SIGKILL`. */
export function sentenceOf({ status, signal }: Ending): Sentence {
  return status === null ? say`was ended by ${signal ?? 'a signal'}` : say`ended with status ${status}`
}

/** The signals by which a program ends itself: a failed assertion, and what the kernel sends for its own fault. */
const ownSignals = new Set(['SIGABRT', 'SIGBUS', 'SIGFPE', 'SIGILL', 'SIGSEGV'])

/** With a status, or by a fault of its own: nobody killed the program. */
export function isByItself({ status, signal }: Ending): boolean {
  return status !== null || ownSignals.has(signal ?? '')
}

/** From the status that a shell gives: 128 and the signal's number where a signal ended it. */
export function endingFrom(shellStatus: number): Ending {
  const signal = Object.entries(constants.signals).find(([, number]) => number === shellStatus - 128)?.[0]
  return signal === undefined ? { status: shellStatus, signal: null } : { status: null, signal }
}

export interface SpawnHow {
  readonly cwd: string
  readonly env: NodeJS.ProcessEnv
  /** Where what it prints goes, as a file descriptor; nowhere without it. */
  readonly output?: number
  /** In a session of its own, so that it outlives this process and its terminal. */
  readonly detached: boolean
}

/** Starts a program as a child of this process. Rejects with `REGENT_MYSQL_MISSING` where that is not possible. */
export async function spawnProgram(
  [program = '', ...args]: readonly string[],
  { cwd, env, output, detached }: SpawnHow,
): Promise<RunningProgram> {
  const child = spawn(program, args, {
    cwd,
    env,
    detached,
    stdio: output === undefined ? 'ignore' : ['ignore', output, output],
  })
  if (detached) child.unref()
  const ended = new Promise<Ending>((resolve) => child.once('exit', (status, signal) => resolve({ status, signal })))
  if (child.pid !== undefined) return { pid: child.pid, ended }
  const error = await new Promise((resolve) => child.once('error', resolve))
  throw new RegentError('REGENT_MYSQL_MISSING', say`cannot start ${program}: ${described(error)}`, { cause: error })
}

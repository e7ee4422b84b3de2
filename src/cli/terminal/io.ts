import { exitCodes } from './exit-codes.ts'
import { forTerminal } from './printable.ts'

/** Where a command writes and what it may know of its surroundings: the process's own, or a test's. */
export interface Io {
  readonly env: Readonly<Record<string, string | undefined>>
  /** Results: standard output. */
  out(line: string): void
  /** Errors, warnings and progress: standard error. */
  note(line: string): void
  /** Empties the terminal before what is drawn next. Absent where standard output is none. */
  clear?(): void
  /** Standard output is a terminal that shows colours. */
  readonly colour: boolean
  /** Standard output is a terminal. */
  readonly terminal: boolean
  /** A signal that Ctrl-C aborts. From the first call on Ctrl-C does not end the process any more: its caller must. */
  interrupted(): AbortSignal
}

/** kubectl runs the command as its plugin: bin/kubectl-regent says so. */
export function isKubectlPlugin(io: Io): boolean {
  return Boolean(io.env['REGENT_KUBECTL_PLUGIN'])
}

/** What a person types to run it. */
export function commandName(io: Io): string {
  return isKubectlPlugin(io) ? 'kubectl regent' : 'regent'
}

/**
 * A reader that went away (`| head`) ends the command in silence, as SIGPIPE ends others. Not with 0: what the command
 * waited for may not be done.
 */
function endWithReader({ code }: NodeJS.ErrnoException): void {
  if (code === 'EPIPE') process.exit(exitCodes.unread)
}

/** The process's own streams. NO_COLOR (no-color.org) and TERM=dumb switch colours off. */
export function processIo(): Io {
  let interrupt: AbortController | undefined
  process.stderr.on('error', endWithReader)
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    endWithReader(error)
    // What was asked for was not given, whatever was done: a script must not take the silence for an answer.
    process.stderr.write(`error: what was done cannot be told: standard output takes nothing (${error.message})\n`)
    process.exit(exitCodes.refused)
  })
  const terminal = process.stdout.isTTY === true
  const colour = terminal && !process.env['NO_COLOR'] && process.env['TERM'] !== 'dumb'
  return {
    env: process.env,
    // Lines hold what stores, servers and records say of themselves: whoever wrote that commands no terminal.
    out: (line) => void process.stdout.write(`${forTerminal(line, colour)}\n`),
    note: (line) => void process.stderr.write(`${forTerminal(line, colour)}\n`),
    ...(terminal && { clear: () => void process.stdout.write('\u001b[H\u001b[2J') }),
    colour,
    terminal,
    interrupted: () => {
      if (interrupt === undefined) process.once('SIGINT', () => interrupt?.abort())
      return (interrupt ??= new AbortController()).signal
    },
  }
}

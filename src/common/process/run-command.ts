import { execFile } from 'node:child_process'

export interface CommandOptions {
  /** Milliseconds after which the command is killed. */
  readonly deadlineMs: number
  readonly env?: Readonly<Record<string, string | undefined>>
}

export interface CommandResult {
  readonly ok: boolean
  readonly stdout: string
  readonly stderr: string
  /** A line about why the command failed; empty where it did not. */
  readonly failure: string
}

/**
 * Runs a short command to its end, without a shell and without standard input. Never rejects: a failure is a result.
 */
export function runCommand(argv: readonly string[], options: CommandOptions): Promise<CommandResult> {
  const [file = '', ...parameters] = argv
  return new Promise((resolve) => {
    const child = execFile(
      file,
      parameters,
      { timeout: options.deadlineMs, killSignal: 'SIGKILL', maxBuffer: 64 * 1024 * 1024, env: options.env },
      (error, stdout, stderr) => {
        resolve({
          ok: error === null,
          stdout,
          stderr,
          failure: error === null ? '' : failureLine(file, error, stderr, options),
        })
      },
    )
    child.stdin?.end()
  })
}

function failureLine(
  file: string,
  error: Error & { killed?: boolean; code?: unknown },
  stderr: string,
  options: CommandOptions,
): string {
  if (error.killed === true) return `${file} did not end within ${options.deadlineMs / 1000} s`
  if (error.code === 'ENOENT') return `${file} does not exist`
  if (error.code === 'EACCES') return `${file} may not be executed`
  return lastWords(stderr) ?? `${file} ended with ${String(error.code)}`
}

/** The last error line of a command's output, or simply its last line. */
function lastWords(output: string): string | undefined {
  const lines = output
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
  return lines.findLast((line) => /^(E:|.*\berror\b)/i.test(line)) ?? lines.at(-1)
}

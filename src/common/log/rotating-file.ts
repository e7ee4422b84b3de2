import { closeSync, fstatSync, openSync, renameSync, writeSync } from 'node:fs'
import { described, describeError, RegentError } from '../errors/errors.ts'
import { say } from '../sentence/sentence.ts'

export interface RotatingFileOptions {
  readonly path: string
  /** A file that would grow past this is put aside as `<path>.1`, the one before as `.2`, and so on. */
  readonly maxBytes: number
  /** So many are kept aside. */
  readonly maxFiles: number
  /** Told when a line could not be written, once until one can again: the rest of the process goes on. */
  readonly failed: (why: string) => void
}

/**
 * A file for lines, for one process alone. Each line is written before `write` returns, since the last ones before a
 * SIGKILL are those that are needed. Throws `REGENT_BAD_FILE` where the file cannot be opened at the start.
 */
export function rotatingFile(options: RotatingFileOptions): { write(line: string): void } {
  const { path, maxBytes, maxFiles, failed } = options
  let open = true
  let failing = false
  let [file, size] = opened(path)

  function rotate(): void {
    // Once closed the number may be another file's.
    if (open) closeSync(file)
    open = false
    for (let at = maxFiles - 1; at >= 0; at -= 1) moveIfThere(at === 0 ? path : `${path}.${at}`, `${path}.${at + 1}`)
    ;[file, size] = opened(path)
    open = true
  }

  return {
    write(line) {
      const bytes = Buffer.from(line)
      try {
        if (!open || (size > 0 && size + bytes.length > maxBytes)) rotate()
        for (let at = 0; at < bytes.length;) at += writeSync(file, bytes, at)
        size += bytes.length
        failing = false
      } catch (error) {
        if (!failing) failed(`lines are missing in ${path}: ${describeError(error)}`)
        failing = true
      }
    },
  }
}

function opened(path: string): [file: number, size: number] {
  try {
    const file = openSync(path, 'a', 0o640)
    return [file, fstatSync(file).size]
  } catch (error) {
    throw new RegentError('REGENT_BAD_FILE', say`the log file ${path} cannot be opened: ${described(error)}`, {
      cause: error,
    })
  }
}

function moveIfThere(from: string, to: string): void {
  try {
    renameSync(from, to)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error
  }
}

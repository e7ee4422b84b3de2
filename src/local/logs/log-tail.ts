import { open } from 'node:fs/promises'
import { isMissing } from '../files/input-file.ts'
import { logPath, type StateLayout } from '../folder/state-layout.ts'

/** Read at first; more where that holds too few lines. */
const tailBytes = 65_536
const linesPerProcess = 5

/** The last `count` lines of a log that are not blank; none where it does not exist. */
export async function lastLines(path: string, count: number): Promise<readonly string[]> {
  for (let bytes = tailBytes; ; bytes *= 8) {
    const { text, isWhole } = await readTail(path, bytes)
    // What it begins with may be the rest of a line.
    const lines = text
      .split('\n')
      .slice(isWhole ? 0 : 1)
      .filter((line) => line.trim() !== '')
    if (isWhole || lines.length >= count) return lines.slice(Math.max(0, lines.length - count))
  }
}

/**
 * The lines of the processes' logs, written since `sinceWallMs`, that most likely say why a start failed: errors, and
 * what is no log line at all (a crash prints those). Each with its process's name before it.
 */
export async function explainingLines(
  layout: StateLayout,
  processes: readonly string[],
  sinceWallMs: number,
): Promise<readonly string[]> {
  const found: string[] = []
  for (const process of processes) {
    const lines = recent(await lastLines(logPath(layout, process), 200), sinceWallMs).map(summary)
    const telling = new Set(lines.filter((line) => line !== undefined))
    found.push(...[...telling].slice(-linesPerProcess).map((line) => `${process}: ${line}`))
  }
  return found
}

/** Everything after the last line that says it is older; lines that are not JSON carry no time of their own. */
function recent(lines: readonly string[], sinceWallMs: number): readonly string[] {
  const old = lines.findLastIndex((line) => (entryOf(line)?.wallMs ?? Infinity) < sinceWallMs)
  return lines.slice(old + 1)
}

export interface LogEntry {
  readonly level: string
  readonly wallMs: number
  readonly msg: string
  readonly error: string
}

/** A line of a log as `common/logger.ts` writes it; undefined for any other. */
export function entryOf(line: string): LogEntry | undefined {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    return undefined
  }
  if (typeof value !== 'object' || value === null) return undefined
  const { level, time, msg, err } = value as {
    level?: unknown
    time?: unknown
    msg?: unknown
    err?: { message?: unknown }
  }
  if (typeof level !== 'string' || typeof time !== 'string') return undefined
  return {
    level,
    wallMs: Date.parse(time),
    msg: typeof msg === 'string' ? msg : '',
    error: typeof err?.message === 'string' ? err.message : '',
  }
}

/** The message of an error line with the error's own words, a line that is none as it is, nothing for the rest. */
function summary(line: string): string | undefined {
  const entry = entryOf(line)
  if (entry === undefined) return line
  if (entry.level !== 'error' && entry.level !== 'fatal') return undefined
  return entry.error === '' || entry.error === entry.msg ? entry.msg : `${entry.msg}: ${entry.error}`
}

async function readTail(path: string, bytes: number): Promise<{ readonly text: string; readonly isWhole: boolean }> {
  try {
    await using file = await open(path, 'r')
    const { size } = await file.stat()
    const buffer = Buffer.alloc(Math.min(size, bytes))
    await file.read(buffer, 0, buffer.length, size - buffer.length)
    return { text: buffer.toString('utf8'), isWhole: bytes >= size }
  } catch (error) {
    if (isMissing(error)) return { text: '', isWhole: true }
    throw error
  }
}

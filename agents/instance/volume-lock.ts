import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, ftruncateSync, openSync, readFileSync, writeSync } from 'node:fs'
import { hostname } from 'node:os'
import { describeError, RegentError } from '#common/errors/errors.ts'
import { reported, say } from '#common/sentence/sentence.ts'

/** flock(1) does not wait for anybody: it answers at once, also on a busy machine. */
const deadlineMs = 10_000

/** flock(1)'s exit code where somebody else has the lock. */
const taken = 1

/**
 * Takes a volume for this process, before anything on the volume is read or written: what two agents write in turn
 * undoes the promises of both. The lock is the kernel's (`flock(2)`): a killed agent leaves no stale lock, a frozen
 * agent keeps its lock, and nothing but the end of this process releases it, or the call that this resolves to: for an
 * agent of which nothing goes on. Node has no call for flock(2), so flock(1) locks the open file that it inherits, and
 * this process keeps that file open. Throws `REGENT_ALREADY_RUNNING` naming the other agent, and `REGENT_SETUP_FAILED`
 * where there is no flock(1) or the file system has no locks.
 */
export async function lockVolume(lockFile: string, instance: string): Promise<() => void> {
  // A bare number: a FileHandle that is collected would be closed, and the lock gone.
  const fd = openSync(lockFile, 'a+', 0o600)
  try {
    await flock(fd, lockFile)
    ftruncateSync(fd)
    writeSync(fd, `the agent of ${instance}, process ${process.pid} on ${hostname()}\n`)
    return () => closeSync(fd)
  } catch (error) {
    closeSync(fd)
    throw error
  }
}

async function flock(fd: number, lockFile: string): Promise<void> {
  const child = spawn('flock', ['-x', '-n', '3'], {
    stdio: ['ignore', 'ignore', 'pipe', fd],
    timeout: deadlineMs,
    killSignal: 'SIGKILL',
  })
  const said: string[] = []
  child.stderr?.on('data', (bytes: Buffer) => said.push(bytes.toString()))
  const [code, signal] = (await once(child, 'close').catch((error: unknown) => [describeError(error), null])) as [
    number | string | null,
    string | null,
  ]
  if (code === 0) return
  if (code === taken) {
    const holder = holderIn(lockFile)
    throw new RegentError(
      'REGENT_ALREADY_RUNNING',
      say`${lockFile} is locked by ${holder}: a volume has one agent at a time. Nothing was written. End the other agent, or give this one a volume of its own`,
    )
  }
  const words = reported(said.join('').trim() || String(signal ?? code))
  throw new RegentError(
    'REGENT_SETUP_FAILED',
    say`cannot lock ${lockFile} with flock(1) of util-linux, and without that lock two agents could write to one volume: ${words}`,
  )
}

/** Written by whoever has the lock; empty for the moment before that. */
function holderIn(lockFile: string): string {
  return readFileSync(lockFile, 'utf8').trim().slice(0, 200) || 'another agent'
}

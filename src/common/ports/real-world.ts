import { randomBytes, randomUUID } from 'node:crypto'
import { link, open, readFile, unlink } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Clock, Disk, Machine, Random, Timers, World } from './ports.ts'
import { syncFolder } from '../files/sync-folder.ts'
import { writeFully } from '../files/write-fully.ts'

/**
 * The ports of `ports.ts` on this machine: its clocks, timers, randomness, file system and kernel.
 */

/** `monotonicMs` is CLOCK_MONOTONIC: the same for every process since this machine booted. */
export const realClock: Clock = {
  monotonicMs: () => Number(process.hrtime.bigint()) / 1e6,
  wallMs: () => Date.now(),
}

/** Node runs anything longer than this after 1 ms instead, so no timer is set beyond it. */
export const longestTimerMs = 2_147_483_647

/**
 * What is due already is done at once. Node would print a warning for a negative time and for one that is no number, in
 * the middle of a log that is JSON.
 */
function timerMs(ms: number): number {
  return Math.min(Math.max(Number.isNaN(ms) ? 0 : ms, 0), longestTimerMs)
}

/** A timer that runs so late was held up together with everything else in this process. */
const lateMs = 100

export const realTimers: Timers = {
  after(ms, task) {
    const { run, cancel } = hearingFirst(timerMs(ms), task)
    const timer = setTimeout(run, timerMs(ms))
    return { cancel: () => (clearTimeout(timer), cancel()) }
  },
  every(ms, task) {
    const { run, cancel } = hearingFirst(timerMs(ms), task)
    const timer = setInterval(run, timerMs(ms))
    return { cancel: () => (clearInterval(timer), cancel()) }
  },
  sleep(ms, signal) {
    return new Promise((resolve, reject) => {
      const abort = () => {
        timer.cancel()
        reject(signal?.reason as Error)
      }
      const timer = realTimers.after(ms, () => {
        signal?.removeEventListener('abort', abort)
        resolve()
      })
      if (signal?.aborted) abort()
      else signal?.addEventListener('abort', abort, { once: true })
    })
  },
}

/**
 * The task of a timer, put off behind what has arrived where the timer is late: Node runs timers before it reads
 * sockets, so that a process which was held up (no processor, SIGSTOP) would take its own stall for the silence of
 * everybody else. `setImmediate` comes after one reading of all sockets.
 */
function hearingFirst(ms: number, task: () => void): { readonly run: () => void; readonly cancel: () => void } {
  let dueMs = realClock.monotonicMs() + ms
  let putOff: NodeJS.Immediate | undefined
  const run = () => {
    const nowMs = realClock.monotonicMs()
    const isLate = nowMs - dueMs > lateMs
    dueMs = nowMs + ms
    if (isLate) putOff = setImmediate(task)
    else task()
  }
  return { run, cancel: () => clearImmediate(putOff) }
}

export const realRandom: Random = {
  hex: (length) =>
    randomBytes(Math.ceil(length / 2))
      .toString('hex')
      .slice(0, length),
  uuid: () => randomUUID(),
}

export const realWorld: World = { clock: realClock, timers: realTimers, random: realRandom }

export const realDisk: Disk = {
  async read(path) {
    try {
      return await readFile(path)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
      throw error
    }
  },

  async writeAt(path, offset, bytes) {
    await using file = await open(path, 'r+')
    await writeFully(file, bytes, offset)
    // The file keeps its size and blocks, so syncing the data alone is durable, and spares a journal commit for the
    // time stamp.
    await file.datasync()
  },

  async allocate(path, size) {
    // Filled under another name first: a crash half-way must not leave a short file that later reads as a damaged one.
    const draft = `${path}.${process.pid}.new`
    try {
      await writeZeroes(draft, size)
      await link(draft, path)
    } finally {
      await unlink(draft).catch(ignoreMissing)
    }
    await syncFolder(dirname(path))
  },
}

/** @param bootIdFile another file than the kernel's, for machines in tests that share one kernel. */
export function realMachine(bootIdFile = '/proc/sys/kernel/random/boot_id'): Machine {
  return { bootId: async () => (await readFile(bootIdFile, 'utf8')).trim() }
}

/** Real zeroes, not a hole: a full disk later must find the blocks already taken. */
async function writeZeroes(path: string, size: number): Promise<void> {
  await using file = await open(path, 'w', 0o600)
  await writeFully(file, new Uint8Array(size), 0)
  await file.sync()
}

function ignoreMissing(error: unknown): void {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
}

import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { monotonicMs } from '../support/monotonic.ts'

/** What a process takes while nothing happens. */
export interface ProcessCost {
  readonly rssMb: number
  /** Of one core. */
  readonly cpuPercent: number
}

/** Linux counts a process's time in ticks of a hundredth of a second (USER_HZ), whatever the kernel's own rate. */
export const ticksPerSecond = 100

export async function measureCost(pids: readonly number[], overMs: number): Promise<readonly ProcessCost[]> {
  const before = await Promise.all(pids.map(ticksOf))
  const began = monotonicMs()
  await sleep(overMs)
  const seconds = (monotonicMs() - began) / 1000
  return Promise.all(
    pids.map(async (pid, at) => ({
      rssMb: await rssOf(pid),
      cpuPercent: (((await ticksOf(pid)) - (before[at] ?? 0)) / ticksPerSecond / seconds) * 100,
    })),
  )
}

/** User and system time: fields 14 and 15 of /proc/<pid>/stat. */
async function ticksOf(pid: number): Promise<number> {
  const line = await readFile(`/proc/${pid}/stat`, 'utf8')
  const fields = line.slice(line.lastIndexOf(')') + 2).split(' ')
  return Number(fields[11]) + Number(fields[12])
}

export async function rssOf(pid: number): Promise<number> {
  const [, kb] = /^VmRSS:\s+(\d+) kB/m.exec(await readFile(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kb) / 1024
}

import { isAlive, type ProcessIdentity } from '#common/process/process-stat.ts'

/** Sends a signal to that very process. False when it is gone. */
export function signalProcess(identity: ProcessIdentity, signal: NodeJS.Signals): boolean {
  if (!isAlive(identity)) return false
  try {
    process.kill(identity.pid, signal)
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ESRCH') return false
    throw error
  }
}

/** Resolves to true once the process is gone, to false when it still lives after `deadlineMs`. */
export async function waitUntilGone(identity: ProcessIdentity, deadlineMs: number): Promise<boolean> {
  const until = performance.now() + deadlineMs
  while (isAlive(identity)) {
    if (performance.now() > until) return false
    // The kernel tells only a parent of a process's end; everybody else has to look.
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  return true
}

/** SIGTERM (and SIGCONT, so that a frozen one hears it), then SIGKILL after `graceMs`. Resolves when it is gone. */
export async function endProcess(identity: ProcessIdentity, graceMs: number): Promise<void> {
  if (!signalProcess(identity, 'SIGTERM')) return
  signalProcess(identity, 'SIGCONT')
  if (await waitUntilGone(identity, graceMs)) return
  await killProcess(identity)
}

/** SIGKILL; resolves when it is gone, or after five seconds that a process may hang in the kernel. */
export async function killProcess(identity: ProcessIdentity): Promise<boolean> {
  if (!signalProcess(identity, 'SIGKILL')) return false
  return waitUntilGone(identity, 5_000)
}

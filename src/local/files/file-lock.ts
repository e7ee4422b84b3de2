import { spawn } from 'node:child_process'
import { once } from 'node:events'

/**
 * Runs `task` while holding an exclusive lock on `file`, and says so when it has to wait for another process.
 * The kernel's lock is used, through flock(1) (Node has no call for it): it ends with its holder, so a process that
 * is killed leaves no stale lock behind. The helper holds the lock until our end of its standard input closes.
 * Rejects where flock(1) is missing or the file cannot be opened.
 */
export async function withFileLock<T>(file: string, waiting: () => void, task: () => Promise<T>): Promise<T> {
  const holder = spawn('flock', ['--exclusive', file, 'sh', '-c', 'echo held; exec cat'], {
    stdio: ['pipe', 'pipe', 'pipe'],
    // In a group of its own: Ctrl-C would end the helper, and a command that undoes first what it began would go on
    // without its lock.
    detached: true,
  })
  const notice = setTimeout(waiting, 1000)
  try {
    await held(holder, file)
    clearTimeout(notice)
    return await task()
  } finally {
    clearTimeout(notice)
    holder.stdin.end()
    holder.stdout.resume()
  }
}

async function held(holder: ReturnType<typeof spawn>, file: string): Promise<void> {
  const said: string[] = []
  holder.stderr?.on('data', (bytes: Buffer) => said.push(bytes.toString()))
  const first = await Promise.race([
    once(holder.stdout ?? holder, 'data').then(() => 'held'),
    once(holder, 'exit').then(() => 'ended'),
  ])
  if (first === 'ended') throw new Error(`cannot lock ${file}: ${said.join('').trim()}`)
}

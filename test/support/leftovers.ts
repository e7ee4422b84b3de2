import { readdir, readFile } from 'node:fs/promises'

/** Processes of this machine whose command line names a folder, as `pid: command line`. This one does not count. */
export async function processesNaming(folder: string): Promise<readonly string[]> {
  return (await naming(folder)).map(({ pid, line }) => `${pid}: ${line.slice(0, 200)}`)
}

/** Ends these processes, also those that others of them begin meanwhile. Resolves when there is none. */
export async function endProcessesNaming(folder: string): Promise<void> {
  for (let found = await naming(folder); found.length > 0; found = await naming(folder)) {
    for (const { pid } of found) endIfThere(Number(pid))
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

function endIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

interface Naming {
  readonly pid: string
  readonly line: string
}

async function naming(folder: string): Promise<readonly Naming[]> {
  const found: Naming[] = []
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)) {
    const line = await commandLineOf(pid)
    if (line.includes(folder)) found.push({ pid, line })
  }
  return found
}

/** Empty where the process has ended in between, or is a zombie. */
async function commandLineOf(pid: string): Promise<string> {
  try {
    return (await readFile(`/proc/${pid}/cmdline`, 'utf8')).replaceAll('\0', ' ').trim()
  } catch {
    return ''
  }
}

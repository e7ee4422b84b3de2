import { readdir, readFile } from 'node:fs/promises'

/** Processes of this machine whose command line names a folder, as `pid: command line`. This one does not count. */
export async function processesNaming(folder: string): Promise<readonly string[]> {
  const found: string[] = []
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)) {
    const line = await commandLineOf(pid)
    if (line.includes(folder)) found.push(`${pid}: ${line.slice(0, 200)}`)
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

import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

/** Whether this process has a TCP socket whose own port is that one. */
export function hasSocketAt(pid: number, port: number): boolean {
  const own = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  const lines = readFileSync(`/proc/${pid}/net/tcp`, 'latin1').split('\n').slice(1)
  const inodes = lines.map((line) => line.trim().split(/\s+/)).filter(([, local]) => local?.endsWith(own) === true)
  const links = new Set(inodes.map((fields) => `socket:[${fields[9]}]`))
  return readdirSync(`/proc/${pid}/fd`).some((fd) => links.has(linkOf(`/proc/${pid}/fd/${fd}`)))
}

/** A file may be closed while all are read. */
function linkOf(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return ''
  }
}

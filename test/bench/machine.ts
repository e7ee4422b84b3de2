import { readFileSync } from 'node:fs'
import { availableParallelism, cpus, release, totalmem } from 'node:os'

/** What the numbers were measured on: `mysql` is the server's version, `network` what lies between the instances. */
export function describeMachine(mysql: string, network: string): string {
  const gib = Math.round(totalmem() / 2 ** 30)
  return `${availableParallelism()} cores of ${cpus()[0]?.model.trim() ?? 'an unknown processor'}, ${gib} GiB, ${distribution()}, Linux ${release()}, Node ${process.versions.node}, MySQL ${mysql}, ${network}`
}

function distribution(): string {
  try {
    return /^PRETTY_NAME="?([^"\n]*)/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1] ?? 'Linux'
  } catch {
    return 'Linux'
  }
}

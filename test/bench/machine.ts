import { readFileSync } from 'node:fs'
import { availableParallelism, cpus, release, totalmem } from 'node:os'
import { findMysql } from '../../src/local/mysql-binaries.ts'

/** What the numbers were measured on. */
export async function describeMachine(): Promise<string> {
  const { version } = await findMysql()
  const gib = Math.round(totalmem() / 2 ** 30)
  return `${availableParallelism()} cores of ${cpus()[0]?.model.trim() ?? 'an unknown processor'}, ${gib} GiB, ${distribution()}, Linux ${release()}, Node ${process.versions.node}, MySQL ${version}, loopback`
}

function distribution(): string {
  try {
    return /^PRETTY_NAME="?([^"\n]*)/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1] ?? 'Linux'
  } catch {
    return 'Linux'
  }
}

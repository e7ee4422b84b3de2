import { readdir, readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { writeSynced } from '#common/files/write-synced.ts'
import { readProcessStat, type ProcessIdentity } from '#common/process/process-stat.ts'

/** Which process is this instance's mysqld, and under which boot of the machine. */
export interface MysqldPid extends ProcessIdentity {
  readonly bootId: string
}

/** Undefined where there is no such file or it is damaged: then the processes themselves are searched. */
export async function readPidFile(path: string): Promise<MysqldPid | undefined> {
  try {
    const value: unknown = JSON.parse(await readFile(path, 'utf8'))
    return isMysqldPid(value) ? { pid: value.pid, startTicks: value.startTicks, bootId: value.bootId } : undefined
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT' || error instanceof SyntaxError) return undefined
    throw error
  }
}

export function writePidFile(path: string, identity: MysqldPid): Promise<void> {
  return writeSynced(path, `${JSON.stringify({ version: 1, ...identity })}\n`)
}

/**
 * What mysqld was told. A loader may stand before the program. Undefined for other programs, which belong to a person:
 * a tool that looks at files of InnoDB and locks these too, a client that reads the server's options.
 */
export function toldTo(words: readonly string[]): readonly string[] | undefined {
  const at = words.findIndex((word) => /^(?:mysqld|mariadbd)(?:[-.]|$)/.test(basename(word)))
  return at === -1 ? undefined : words.slice(at + 1)
}

/**
 * The server that was started with this very argument: an agent may have died between starting a server and writing
 * that down.
 */
export async function findByArgument(argument: string): Promise<ProcessIdentity | undefined> {
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const words = (await readFile(`/proc/${name}/cmdline`, 'utf8').catch(() => '')).split('\0')
    const told = toldTo(words) ?? []
    const isServer = told.includes(argument) && !told.includes('--initialize-insecure')
    const stat = isServer ? readProcessStat(Number(name)) : undefined
    if (stat) return { pid: Number(name), startTicks: stat.startTicks }
  }
  return undefined
}

function isMysqldPid(value: unknown): value is MysqldPid {
  if (typeof value !== 'object' || value === null) return false
  const { pid, startTicks, bootId } = value as Record<string, unknown>
  return Number.isSafeInteger(pid) && Number.isSafeInteger(startTicks) && typeof bootId === 'string'
}

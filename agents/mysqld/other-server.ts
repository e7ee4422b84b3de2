import { readFile, readlink, realpath, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { readProcessStat, type ProcessIdentity } from '#common/process/process-stat.ts'
import type { VolumeLayout } from '../instance/volume-layout.ts'
import { defaultsArgument } from './command.ts'
import { toldTo } from './pid-file.ts'

export interface FoundServer extends ProcessIdentity {
  /** Its command line has the settings of the agent and no other: it came up closed. */
  readonly startedClosed: boolean
}

const lockLine = /^\d+: POSIX +ADVISORY +WRITE (\d+) ([0-9a-f]+):([0-9a-f]+):(\d+) /

/**
 * The mysqld that runs on the data of this instance, whoever started it: InnoDB locks its system tablespace for as long
 * as it is open. Undefined where nobody holds that lock.
 * @param proc `/proc`, but in tests
 */
export async function findServerOn(layout: VolumeLayout, proc = '/proc'): Promise<FoundServer | undefined> {
  const file = await stat(join(layout.dataDir, 'ibdata1')).catch(() => undefined)
  if (file === undefined) return undefined
  const locks = await textOf(join(proc, 'locks'))
  for (const line of locks.split('\n')) {
    const lock = lockIn(line)
    const process = join(proc, lock[0])
    if (lock[3] !== String(file.ino) || !(await isOfData(lock, deviceOf(file.dev), { process, layout }))) continue
    const [stat, told] = [readProcessStat(Number(lock[0])), toldTo(await wordsOf(process))]
    if (stat?.exiting === false && told !== undefined)
      return { pid: stat.pid, startTicks: stat.startTicks, startedClosed: isClosedBy(told, layout) }
  }
  return undefined
}

type Lock = readonly [pid: string, major: string, minor: string, inode: string]

function lockIn(line: string): Lock {
  const [, pid = '', major = '', minor = '', inode = ''] = lockLine.exec(line) ?? []
  return [pid, major, minor, inode]
}

interface Candidate {
  readonly process: string
  readonly layout: VolumeLayout
}

/** Some file systems give a file another device than its locks have (btrfs, overlayfs): then its folder tells. */
async function isOfData([, major, minor]: Lock, device: string, { process, layout }: Candidate): Promise<boolean> {
  return device === `${parseInt(major, 16)}:${parseInt(minor, 16)}` || runsIn(process, layout.dataDir)
}

async function runsIn(process: string, folder: string): Promise<boolean> {
  const [its, there] = await Promise.all([readlink(join(process, 'cwd')), realpath(folder)]).catch(() => ['', '/'])
  return its === there
}

/** As `/proc/locks` has it, but decimal (`makedev(3)`). */
function deviceOf(device: number): string {
  const bits = BigInt(device)
  const major = ((bits >> 8n) & 0xfffn) | ((bits >> 32n) & 0xfffff000n)
  const minor = (bits & 0xffn) | ((bits >> 12n) & 0xffffff00n)
  return `${major}:${minor}`
}

async function wordsOf(process: string): Promise<readonly string[]> {
  return (await textOf(join(process, 'cmdline'))).split('\0')
}

function isClosedBy(told: readonly string[], layout: VolumeLayout): boolean {
  const options = told.filter((word) => word.startsWith('-') && !word.startsWith('--user='))
  return options.length === 1 && options[0] === defaultsArgument(layout)
}

function textOf(path: string): Promise<string> {
  return readFile(path, 'utf8').catch(() => '')
}

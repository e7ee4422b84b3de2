import { readdir, readFile, readlink } from 'node:fs/promises'
import { placeOf } from './cluster-processes.ts'

/** A process that listens at an address of this machine, as far as the kernel tells this user. */
export interface Listener {
  /** Undefined for a process of another user. */
  readonly pid: number | undefined
  /** The folder of the cluster whose manager this is; undefined for every other process. */
  readonly managerOf: string | undefined
}

/** Undefined where nobody listens, or in a network that this process does not see. */
export async function listenerAt(host: string, port: number): Promise<Listener | undefined> {
  const socket = await listeningSocket(host, port)
  if (socket === undefined) return undefined
  const pid = await ownerOf(socket)
  if (pid === undefined) return { pid, managerOf: undefined }
  const argv = (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).split('\0').slice(0, -1)
  return { pid, managerOf: managerFolder(argv) }
}

/** Also of one that a person started with options of its own. */
function managerFolder(argv: readonly string[]): string | undefined {
  const place = placeOf(argv)
  if (place?.kind === 'manager') return place.dir
  const at = argv.indexOf('--cluster-dir')
  return at < 0 ? undefined : argv[at + 1]
}

/** The inode of the socket: proc_net(5), state 0A is LISTEN, addresses are little-endian hexadecimal. */
async function listeningSocket(host: string, port: number): Promise<string | undefined> {
  const address = host
    .split('.')
    .reverse()
    .map((part) => Number(part).toString(16).padStart(2, '0'))
    .join('')
    .toUpperCase()
  const wanted = [address, '00000000'].map((one) => `${one}:${port.toString(16).padStart(4, '0').toUpperCase()}`)
  const lines = (await readFile('/proc/net/tcp', 'latin1').catch(() => '')).split('\n').slice(1)
  const fields = lines
    .map((line) => line.trim().split(/\s+/))
    .find(([, local = '', , state]) => state === '0A' && wanted.includes(local))
  return fields?.[9]
}

async function ownerOf(inode: string): Promise<number | undefined> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const owners = await Promise.all(pids.map(async (pid) => ((await holds(pid, inode)) ? Number(pid) : undefined)))
  return owners.find((pid) => pid !== undefined)
}

async function holds(pid: string, inode: string): Promise<boolean> {
  // Another user's process, or one that ended, shows nothing.
  const descriptors = await readdir(`/proc/${pid}/fd`).catch(() => [])
  const links = await Promise.all(descriptors.map((one) => readlink(`/proc/${pid}/fd/${one}`).catch(() => '')))
  return links.includes(`socket:[${inode}]`)
}

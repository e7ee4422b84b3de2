import { spawn, type ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { copyFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { patienceMs } from './patience.ts'
import { isThere, said, unpackedPackages } from './unpacked-packages.ts'

/** A mount namespace has all mounts of its beginning: a disk of another test could not be mounted anew. `$1` its own */
const letGo = `grep -o ' [^ ]*/regent-[^ ]* ' /proc/self/mounts | while read -r one; do
  case $one in "$1"/*) ;; *) umount -l "$one";; esac
done`

/** Debian's sshd. Undefined where it cannot be had. */
export function unpackedSshd(): Promise<string | undefined> {
  return unpackedPackages({
    folder: 'openssh',
    packages: ['openssh-server', 'openssh-sftp-server', 'libwrap0'],
    proof: 'usr/sbin/sshd',
  }).catch(() => undefined)
}

/**
 * An sshd of its own at one address. It needs a user `sshd`, which a mount namespace of its own gives, and shows a boot
 * id that a test can change.
 */
export class Sshd {
  readonly #root: string
  readonly #folder: string
  readonly #address: string
  #process: ChildProcess | undefined

  constructor(root: string, folder: string, address: string) {
    this.#root = root
    this.#folder = folder
    this.#address = address
  }

  get hostKeyFile(): string {
    return join(this.#folder, 'hostkey')
  }

  /** Its line of a known hosts file. */
  async knownHost(port?: number): Promise<string> {
    const [type, key] = (await readFile(`${this.hostKeyFile}.pub`, 'utf8')).split(' ')
    return `${port === undefined ? this.#address : `[${this.#address}]:${port}`} ${type} ${key}\n`
  }

  async newHostKey(): Promise<void> {
    await rm(this.hostKeyFile, { force: true })
    await said(['ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-f', 'hostkey'], this.#folder)
  }

  async start(publicKeyFile: string): Promise<void> {
    if (!(await isThere(this.hostKeyFile))) await this.newHostKey()
    const at = (name: string): string => join(this.#folder, name)
    await copyFile(publicKeyFile, at('authorized'))
    await mkdir(at('empty'), { recursive: true })
    const users = (await readFile('/etc/passwd', 'utf8')).split('\n').filter((line) => !line.startsWith('sshd:'))
    await writeFile(at('passwd'), [`sshd:x:104:65534::${at('empty')}:/bin/false`, ...users].join('\n'))
    await writeFile(
      at('sshd_config'),
      [
        `ListenAddress ${this.#address}`,
        `HostKey ${this.hostKeyFile}`,
        `AuthorizedKeysFile ${at('authorized')}`,
        'PermitRootLogin prohibit-password',
        'StrictModes no',
        'UsePAM no',
        'PidFile none',
        '',
      ].join('\n'),
    )
    await this.#newBootId()
    const binds = 'mount --bind "$1/passwd" /etc/passwd && mount --bind "$1/boot_id" /proc/sys/kernel/random/boot_id'
    const script = `${letGo}; mkdir -p /run/sshd && ${binds} && exec "$2" -D -f "$1/sshd_config"`
    this.#process = spawn(
      'unshare',
      ['-m', 'sh', '-c', script, 'sh', this.#folder, join(this.#root, 'usr/sbin/sshd')],
      { stdio: 'ignore', env: { ...process.env, LD_LIBRARY_PATH: join(this.#root, 'usr/lib/x86_64-linux-gnu') } },
    )
    const until = performance.now() + patienceMs
    while (!(await answers(this.#address))) {
      if (performance.now() > until) throw new Error(`no sshd at ${this.#address}`)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }

  /** Nobody logs in any more; and where `sessions` says so, those who are in are cut off. */
  async stop(sessions = true): Promise<void> {
    const child = this.#process
    this.#process = undefined
    if (child?.pid === undefined) return
    if (sessions) for (const pid of await childrenOf(child.pid)) process.kill(pid, 'SIGKILL')
    child.kill('SIGKILL')
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  }

  /** As a boot of the host: another boot id, and everybody is cut off. */
  async reboot(): Promise<void> {
    await this.#newBootId()
    await this.cut()
  }

  async #newBootId(): Promise<void> {
    await writeFile(join(this.#folder, 'boot_id'), `${randomUUID()}\n`)
  }

  /** Those who are in are cut off, and may come back at once. */
  async cut(): Promise<void> {
    for (const pid of await childrenOf(this.#process?.pid ?? 0)) process.kill(pid, 'SIGKILL')
  }
}

async function childrenOf(pid: number): Promise<readonly number[]> {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '')
  return text
    .split(' ')
    .filter((word) => word !== '')
    .map(Number)
}

function answers(host: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port: 22 })
    socket.once('connect', () => (socket.destroy(), resolve(true)))
    socket.once('error', () => resolve(false))
  })
}

import { mkdir, readdir, rename, rm, statfs, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describeError } from '#common/errors/errors.ts'
import { runCommand } from '#common/process/run-command.ts'

/** A file system of its own in a file, mounted over one instance's volume; needs root, a loop device and mkfs.ext4. */
export class SmallDisk {
  readonly #image: string
  readonly #mountPoint: string

  private constructor(image: string, mountPoint: string) {
    this.#image = image
    this.#mountPoint = mountPoint
  }

  /** Why this machine lets nobody mount anything; undefined where it does. */
  static async whyNot(folder: string): Promise<string | undefined> {
    if (process.getuid?.() !== 0) return 'only root can mount a disk of its own'
    try {
      const disk = await SmallDisk.create(join(folder, 'try'), 16)
      await disk.remove()
      return undefined
    } catch (error) {
      return `no disk can be mounted here: ${describeError(error)}`
    } finally {
      await rm(join(folder, 'try'), { recursive: true, force: true })
    }
  }

  /** Moves what is in `folder` onto a new disk of this size, mounted there. Nothing may use the folder meanwhile. */
  static async create(folder: string, sizeMiB: number): Promise<SmallDisk> {
    const [image, before] = [`${folder}.img`, `${folder}.before`]
    await mkdir(folder, { recursive: true })
    await writeFile(image, '')
    await truncate(image, sizeMiB * 1_048_576)
    await run('mkfs.ext4', '-q', '-m', '0', image)
    await rename(folder, before)
    await mkdir(folder)
    const disk = new SmallDisk(image, folder)
    try {
      await run('mount', '-o', 'loop', image, folder)
      // Node's own copy refuses sockets.
      await run('cp', '-a', `${before}/.`, folder)
      // What turns read-only loses everything that was not written yet: of a real volume that is never what was there
      // all along.
      await run('sync', '-f', folder)
    } catch (error) {
      await disk.remove().catch(() => undefined)
      throw error
    }
    await rm(before, { recursive: true })
    return disk
  }

  async freeMiB(): Promise<number> {
    const { bavail, bsize } = await statfs(this.#mountPoint)
    return (bavail * bsize) / 1_048_576
  }

  /** Fills it until so much is free; with 0, to the last block. */
  async fillUntil(freeMiB: number): Promise<void> {
    const size = Math.max(0, Math.floor(((await this.freeMiB()) - freeMiB) * 1_048_576))
    await runCommand(['fallocate', '-l', String(size), this.#filler], { deadlineMs: 60_000 })
    // What allocating at once leaves over is taken block by block; it ends with "no space left", as it should.
    for (let tries = 0; freeMiB === 0 && tries < 5 && (await this.freeMiB()) > 0; tries++) {
      await runCommand(['dd', 'if=/dev/zero', `of=${this.#filler}.${tries}`, 'bs=4k', 'status=none'], {
        deadlineMs: 60_000,
      })
    }
  }

  async makeRoom(): Promise<void> {
    for (const name of await readdir(this.#mountPoint))
      if (name.startsWith('filler')) await rm(join(this.#mountPoint, name))
  }

  /** What ext4 does on an error of the device below it. */
  async turnReadOnly(): Promise<void> {
    await run('mount', '-o', 'remount,abort', this.#mountPoint)
  }

  /** Checked and mounted again, as after a repair. Nothing may use it meanwhile. */
  async repair(): Promise<void> {
    for (let tries = 0; tries < 20; tries++) {
      await unmount(this.#mountPoint)
      const checked = await runCommand(['fsck.ext4', '-fy', this.#image], { deadlineMs: 60_000 })
      if (!checked.ok && !checked.failure.includes('1')) throw new Error(checked.failure)
      await run('mount', '-o', 'loop', this.#image, this.#mountPoint)
      if (await this.#takesWrites()) return
      // The kernel had not let go of the file system that was aborted, and gave that one again.
      await sleep(500)
    }
    throw new Error(`${this.#mountPoint} stays read-only`)
  }

  async #takesWrites(): Promise<boolean> {
    const trial = join(this.#mountPoint, 'trial')
    return writeFile(trial, '').then(
      () => rm(trial).then(() => true),
      () => false,
    )
  }

  /** With all that is on it. Nothing may use it any more. */
  async remove(): Promise<void> {
    await unmount(this.#mountPoint)
    await rm(this.#image)
    await rm(`${this.#mountPoint}.before`, { recursive: true, force: true })
  }

  get #filler(): string {
    return join(this.#mountPoint, 'filler')
  }
}

/** A server that was killed lets go of its files a moment after it counts as dead. */
async function unmount(mountPoint: string): Promise<void> {
  for (let tries = 0; tries < 50; tries++) {
    if ((await runCommand(['umount', mountPoint], { deadlineMs: 60_000 })).ok) return
    await sleep(100)
  }
  await run('umount', mountPoint)
}

async function run(...argv: readonly string[]): Promise<void> {
  const done = await runCommand(argv, { deadlineMs: 60_000 })
  if (!done.ok) throw new Error(done.failure)
}

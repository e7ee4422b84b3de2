import { mkdir, open, rename, stat, truncate, writeFile } from 'node:fs/promises'
import { basename, isAbsolute, join } from 'node:path'
import { RegentError } from '#common/errors/errors.ts'
import { sha256Of } from '#common/files/sha256.ts'
import { GtidSet } from '#topology/gtid/gtid-set.ts'
import { unreadable } from '#binlog/events.ts'
import { readBinlogHead } from '../binlog/set.ts'
import { pieceScript, sizesScript, textScript } from './scripts.ts'
import type { FarShell } from './ssh.ts'

/** So much comes at once, with a checksum of its own. */
const pieceBytes = 4_194_304
const pieceMs = 30_000
/** How often a piece is asked for that did not arrive whole, or whose connection was cut. */
const attempts = 4
const restMs = 250
/** Of what is there already this much is compared with the host again: names of logs are used again after a reset. */
const comparedBytes = 4_096

interface Ports {
  readonly shell: FarShell
  readonly sleep: (ms: number) => Promise<void>
}

/** Logs of one kind, by their index. */
export interface FarLogs {
  readonly remoteIndex: string
  /** The name of the index in the mirror: that by which a near volume knows it. */
  readonly localIndex: string
}

/**
 * Copies of a far server's logs in a folder of the agent's own, where everything reads them that reads those of a near
 * server. Only the newest files come, as many as are asked for; of a file that is there already only the rest comes.
 */
export class Mirror {
  readonly #folder: string
  readonly #dataDir: string
  readonly #ports: Ports

  constructor(folder: string, dataDir: string, ports: Ports) {
    this.#folder = folder
    this.#dataDir = dataDir
    this.#ports = ports
  }

  /**
   * Brings the newest logs, each older one for as long as `goesOn` wants, by what was executed before the newer ones
   * began. The mirror's index names these and no others. Resolves to how many there are.
   */
  async bring({ remoteIndex, localIndex }: FarLogs, goesOn: (before: GtidSet) => boolean): Promise<number> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 })
    const paths = await this.#pathsIn(remoteIndex)
    const names: string[] = []
    for (const path of paths.toReversed()) {
      await this.#bringFile(path)
      names.unshift(basename(path))
      if (!goesOn((await readBinlogHead(join(this.#folder, basename(path)))).previous)) break
    }
    await this.#writeIndex(localIndex, names)
    return names.length
  }

  async #pathsIn(index: string): Promise<readonly string[]> {
    const { stdout } = await this.#ports.shell.run(textScript, [index])
    const lines = stdout
      .toString('utf8')
      .split('\n')
      .filter((line) => line !== '')
    return lines.map((line) => (isAbsolute(line) ? line : join(this.#dataDir, line)))
  }

  async #writeIndex(name: string, files: readonly string[]): Promise<void> {
    const path = join(this.#folder, name)
    await writeFile(`${path}.new`, files.map((file) => `./${file}\n`).join(''))
    await rename(`${path}.new`, path)
  }

  async #bringFile(remote: string): Promise<void> {
    const size = await this.#sizeOf(remote)
    const local = join(this.#folder, basename(remote))
    let have = await this.#usable(remote, local, size)
    await using file = await open(local, have === 0 ? 'w' : 'r+', 0o600)
    while (have < size) {
      const length = Math.min(pieceBytes, size - have)
      await file.write(await this.piece(remote, have, length), 0, length, have)
      have += length
    }
    await file.sync()
  }

  async #sizeOf(remote: string): Promise<number> {
    const { stdout } = await this.#ports.shell.run(sizesScript, [remote])
    const size = Number(stdout.toString('utf8').trim())
    if (!Number.isSafeInteger(size)) throw unreadable(`${remote} is gone from the host, and its index names it`)
    return size
  }

  /** How much of it is there already, and is still the same on the host. */
  async #usable(remote: string, local: string, size: number): Promise<number> {
    const have = await stat(local).then(
      (found) => found.size,
      () => 0,
    )
    if (have === 0) return 0
    if (have > size) return 0
    const at = Math.max(0, have - comparedBytes)
    for (const offset of new Set([0, at])) {
      const length = Math.min(comparedBytes, have - offset)
      const mine = await readPart(local, offset, length)
      if (!mine.equals(await this.piece(remote, offset, length))) {
        await truncate(local, 0)
        return 0
      }
    }
    return have
  }

  /** A part of a file of the host, compared by checksum; asked for again where it did not arrive whole. */
  async piece(remote: string, offset: number, length: number): Promise<Buffer> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#pieceOnce(remote, offset, length)
      } catch (error) {
        if (attempt === attempts || isRefused(error)) throw error
        await this.#ports.sleep(restMs * attempt)
      }
    }
  }

  async #pieceOnce(remote: string, offset: number, length: number): Promise<Buffer> {
    const { stdout, stderr } = await this.#ports.shell.run(pieceScript, [remote, String(offset + 1), String(length)], {
      deadlineMs: pieceMs,
    })
    const said = stderr.trim().split(/\s/)[0]
    if (stdout.length === length && said === sha256Of(stdout)) return stdout
    throw unreadable(`bytes ${offset} to ${offset + length} of ${remote} did not arrive whole`)
  }
}

/** Another attempt would be refused as well. */
function isRefused(error: unknown): boolean {
  return error instanceof RegentError && error.code === 'REGENT_HOST_KEY'
}

async function readPart(path: string, offset: number, length: number): Promise<Buffer> {
  await using file = await open(path, 'r')
  return (await file.read(Buffer.alloc(length), 0, length, offset)).buffer
}

import { mkdir, open, rename, stat, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { codeOf } from '#common/errors/errors.ts'
import { sha256Of } from '#common/files/sha256.ts'
import type { GtidSet } from '#topology/gtid/gtid-set.ts'
import { unreadable } from '#binlog/events.ts'
import { readBinlogHead } from '../binlog/set.ts'
import { again, type Again } from './again.ts'
import { logsScript, pieceScript } from './scripts.ts'
import type { FarShell } from './ssh.ts'

/** So much comes at once, with a checksum of its own. What else is said waits behind it on a slow line. */
const pieceBytes = 1_048_576
const pieceMs = 30_000
/** Of what is there already this much is compared with the host again: names of logs are used again after a reset. */
const comparedBytes = 4_096

interface Ports extends Again {
  readonly shell: FarShell
}

/** Logs of one kind, by their index. */
export interface FarLogs {
  readonly remoteIndex: string
  /** The name of the index in the mirror: that by which a near volume knows it. */
  readonly localIndex: string
}

/** A log as the host shows it. Another time, size or inode: another content. */
interface Shown {
  readonly path: string
  readonly size: number
  readonly identity: string
}

/**
 * Copies of a far server's logs in a folder of the agent's own, where everything reads them that reads those of a near
 * server. Only the newest files come, as many as are asked for; of a file that is there already only the rest comes,
 * and nothing of one that the host shows as it was.
 */
export class Mirror {
  readonly #folder: string
  readonly #dataDir: string
  readonly #ports: Ports
  /** What each path was when all of it was here. */
  readonly #whole = new Map<string, string>()
  #last: Promise<unknown> = Promise.resolve()

  constructor(folder: string, dataDir: string, ports: Ports) {
    this.#folder = folder
    this.#dataDir = dataDir
    this.#ports = ports
  }

  /**
   * Brings the newest logs of each kind, each older one for as long as `goesOn` wants, by what was executed before the
   * newer ones began. The mirror's indexes name these and no others. One after the other: two would write one file.
   */
  bring(kinds: readonly FarLogs[], goesOn: (before: GtidSet) => boolean): Promise<void> {
    const mine = this.#last.then(() => this.#bring(kinds, goesOn))
    this.#last = mine.catch(() => undefined)
    return mine
  }

  async #bring(kinds: readonly FarLogs[], goesOn: (before: GtidSet) => boolean): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 })
    const shown = await this.#shownBy(kinds.map(({ remoteIndex }) => remoteIndex))
    await Promise.all(
      kinds.map(async ({ localIndex }, at) => {
        const names: string[] = []
        let isEnough = false
        for (const log of (shown[at] ?? []).toReversed()) {
          // What came for others stays in the index: somebody may be reading there.
          if (isEnough && !this.#isWhole(log)) break
          await this.#bringFile(log)
          names.unshift(basename(log.path))
          const before = await executedBefore(join(this.#folder, basename(log.path)))
          isEnough ||= before !== undefined && !goesOn(before)
        }
        await this.#writeIndex(localIndex, names)
      }),
    )
  }

  /** By index, the oldest first. A log that was purged while its index was read is not asked for. */
  async #shownBy(indexes: readonly string[]): Promise<readonly (readonly Shown[])[]> {
    const { stdout } = await this.#ports.shell.run(logsScript, [this.#dataDir, ...indexes])
    const parts = stdout.toString('utf8').split(/^=\n/m).slice(1)
    return parts.map((part) => {
      const lines = part.split('\n')
      const there = new Map(lines.flatMap((line) => shownIn(line)).map((log) => [log.path, log]))
      const named = lines.filter((line) => line.startsWith('i ')).map((line) => line.slice(2))
      const firstThere = named.findIndex((path) => there.has(path))
      return (firstThere === -1 ? named : named.slice(firstThere)).map((path) => there.get(path) ?? gone(path))
    })
  }

  async #writeIndex(name: string, files: readonly string[]): Promise<void> {
    const path = join(this.#folder, name)
    await writeFile(`${path}.new`, files.map((file) => `./${file}\n`).join(''))
    await rename(`${path}.new`, path)
  }

  #isWhole({ path, identity }: Shown): boolean {
    return this.#whole.get(path) === identity
  }

  async #bringFile(log: Shown): Promise<void> {
    if (this.#isWhole(log)) return
    const { path, size, identity } = log
    const local = join(this.#folder, basename(path))
    let have = await this.#usable(path, local, size)
    await using file = await open(local, have === 0 ? 'w' : 'r+', 0o600)
    while (have < size) {
      const length = Math.min(pieceBytes, size - have)
      await file.write(await this.piece(path, have, length), 0, length, have)
      have += length
    }
    await file.sync()
    this.#whole.set(path, identity)
  }

  /** How much of it is there already, and is still the same on the host. */
  async #usable(remote: string, local: string, size: number): Promise<number> {
    const have = await stat(local).then(({ size: found }) => found, nothingIfMissing)
    if (have === 0 || have > size) return 0
    const offsets = [...new Set([0, Math.max(0, have - comparedBytes)])]
    const areSame = await Promise.all(
      offsets.map(async (offset) => {
        const length = Math.min(comparedBytes, have - offset)
        return (await readPart(local, offset, length)).equals(await this.piece(remote, offset, length))
      }),
    )
    return areSame.every(Boolean) ? have : 0
  }

  /** A part of a file of the host, compared by checksum; asked for again where it did not arrive whole. */
  piece(remote: string, offset: number, length: number): Promise<Buffer> {
    return again(this.#ports, () => this.#pieceOnce(remote, offset, length))
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

/** `f 131 157 2026-01-01 10:00:00.123456789 +0000 /data/binlog.000001` */
function shownIn(line: string): readonly Shown[] {
  const [, inode, size, written, path] = /^f (\d+) (\d+) (\S+ \S+ \S+) (.*)$/.exec(line) ?? []
  if (path === undefined) return []
  return [{ path, size: Number(size), identity: `${inode} ${size} ${written}` }]
}

function gone(path: string): never {
  throw unreadable(`${path} is gone from the host, and its index names it`)
}

/**
 * What was executed before a log began; undefined where it does not say so, as a file of which a power cut left
 * nothing. Whoever reads the mirror judges that as in a near folder.
 */
async function executedBefore(path: string): Promise<GtidSet | undefined> {
  try {
    return (await readBinlogHead(path)).previous
  } catch (error) {
    if (codeOf(error) === 'REGENT_BINLOG_UNREADABLE') return undefined
    throw error
  }
}

function nothingIfMissing(error: NodeJS.ErrnoException): number {
  if (error.code !== 'ENOENT') throw error
  return 0
}

async function readPart(path: string, offset: number, length: number): Promise<Buffer> {
  await using file = await open(path, 'r')
  return (await file.read(Buffer.alloc(length), 0, length, offset)).buffer
}

import { binlogNumberIn } from '#common/mysql/binlog-number.ts'
import { mkdir, open, readdir, rename, rm, stat, writeFile, type FileHandle } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { codeOf } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { sha256Of } from '#common/files/sha256.ts'
import { writeFully } from '#common/files/write-fully.ts'
import type { GtidSet } from '#topology/gtid/gtid-set.ts'
import { unreadable } from '#binlog/events.ts'
import { readBinlogHead } from '../binlog/set.ts'
import type { FarPlaces } from '../instance/config.ts'
import { again, type Again } from './again.ts'
import { cutFrom, headLength, type RemoteLog } from './cut.ts'
import { logsScript, pieceScript } from './scripts.ts'
import type { FarShell } from './ssh.ts'
import { Starts, type LookedAt } from './starts.ts'

/** So much comes at once, with a checksum of its own. What else is said waits behind it on a slow line. */
const pieceBytes = 1_048_576
const pieceMs = 30_000
/** Bytes of a copied log that are compared with the host again: names of logs are used again after a reset. */
const comparedBytes = 4_096
/** Looks come several times a second. */
const headEveryMs = 3_000
/** What the names of parts begin with. They end as those of their binlogs do. */
const cutPrefix = 'from-'
/** What the names of relay logs begin with here: there they lie in another folder, perhaps by the names of binlogs. */
const relayLogPrefix = 'received-'

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

/** A part of a binlog, by its name in the mirror. */
interface Cut {
  readonly name: string
  readonly identity: string
  readonly executed: GtidSet
}

type Wants = (before: GtidSet) => boolean

/**
 * Copies of a far server's logs in a folder of the agent's own, where everything reads them that reads those of a near
 * server. Only the newest files come, as many as are asked for; of a file that is there already only the rest comes,
 * and nothing of one that the host shows as it was. Where places in a binlog are known, and one of them will do, only
 * the rest behind that place comes, as a file with a name of its own.
 */
export class Mirror {
  readonly #folder: string
  readonly #places: Pick<FarPlaces, 'dataDir' | 'binlogIndex'>
  readonly #ports: Ports
  readonly #starts = new Starts()
  #headAfterMs = -Infinity
  #noting: Promise<void> | undefined
  /** By path on the host. */
  readonly #cuts = new Map<string, Cut>()
  /** What each path was when all of it was here. */
  readonly #whole = new Map<string, string>()
  #last: Promise<unknown> = Promise.resolve()

  constructor(folder: string, places: Pick<FarPlaces, 'dataDir' | 'binlogIndex'>, ports: Ports) {
    this.#folder = folder
    this.#places = places
    this.#ports = ports
  }

  /** To be called with each answer of the running server. */
  see(state: LookedAt): void {
    this.#starts.add(state)
    const nowMs = this.#ports.clock.monotonicMs()
    if (this.#starts.head !== null || nowMs < this.#headAfterMs) return
    this.#headAfterMs = nowMs + headEveryMs
    // Without it the file is read whole.
    this.noteHead().catch(() => undefined)
  }

  /**
   * Notes how the newest binlog begins: what is read of it one day must be of that very file. Whoever asks meanwhile
   * waits for the same reading: the end of a later one says nothing of an earlier one.
   */
  noteHead(): Promise<void> {
    this.#noting ??= this.#readHead().finally(() => (this.#noting = undefined))
    return this.#noting
  }

  async #readHead(): Promise<void> {
    const { file } = this.#starts
    const [logs = []] = await this.#shownBy([this.#places.binlogIndex])
    const log = logs.findLast(({ path }) => binlogNumberIn(path) === file)
    if (log === undefined) return
    const head = await this.piece(log.path, 0, Math.min(headLength, log.size))
    if (file === this.#starts.file) this.#starts.head = head
  }

  /**
   * Brings the newest logs of each kind, each older one for as long as `goesOn` wants, by what was executed before the
   * newer ones began. The mirror's indexes name these and no others. Calls follow one another: two would write one
   * file.
   */
  bring(kinds: readonly FarLogs[], goesOn: Wants): Promise<void> {
    const mine = this.#last.then(() => this.#bring(kinds, goesOn))
    this.#last = mine.catch(() => undefined)
    return mine
  }

  async #bring(kinds: readonly FarLogs[], goesOn: Wants): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 })
    const shown = await this.#shownBy(kinds.map(({ remoteIndex }) => remoteIndex))
    await Promise.all(
      kinds.map(async ({ remoteIndex, localIndex }, at) => {
        const isBinlog = remoteIndex === this.#places.binlogIndex
        const names: string[] = []
        let isEnough = false
        for (const log of (shown[at] ?? []).toReversed()) {
          // What came for others stays in the index: somebody may be reading there.
          if (isEnough && !this.#isWhole(log)) break
          const name = (isBinlog && (await this.#bringCut(log, goesOn))) || (await this.#bringFile(log, isBinlog))
          names.unshift(name)
          const before = await executedBefore(join(this.#folder, name))
          isEnough ||= before !== undefined && !goesOn(before)
        }
        await this.#writeIndex(localIndex, names)
        if (isBinlog) await this.#removeCuts(names)
      }),
    )
  }

  /** The name of a part of a binlog that will do; '' where none is known. */
  async #bringCut(log: Shown, goesOn: Wants): Promise<string> {
    const { path, size, identity } = log
    if (this.#isWhole(log)) return ''
    const there = this.#cuts.get(path)
    if (there?.identity === identity && !goesOn(there.executed)) return there.name
    const { head } = this.#starts
    const start = this.#starts.of(binlogNumberIn(path)).find(({ executed }) => !goesOn(executed))
    if (head === null || start === undefined) return ''
    const name = `${cutPrefix}${start.from}-of-${basename(path)}`
    const piece = (offset: number, length: number): Promise<Buffer> => this.piece(path, offset, length)
    const copy: RemoteLog['copy'] = (file, at) => this.#copy(log, start.from, file, at)
    if (!(await cutFrom({ size, piece, copy }, start, head, join(this.#folder, name)))) {
      this.#starts.forget()
      return ''
    }
    this.#cuts.set(path, { name, identity, executed: start.executed })
    return name
  }

  /** Also those that an earlier agent left. */
  async #removeCuts(except: readonly string[]): Promise<void> {
    for (const name of await readdir(this.#folder))
      if (name.startsWith(cutPrefix) && !except.includes(name)) await rm(join(this.#folder, name))
    for (const [path, { name }] of this.#cuts) if (!except.includes(name)) this.#cuts.delete(path)
  }

  /** By index, the oldest first. A log that was purged while its index was read is not asked for. */
  async #shownBy(indexes: readonly string[]): Promise<readonly (readonly Shown[])[]> {
    const { stdout } = await this.#ports.shell.run(logsScript, [this.#places.dataDir, ...indexes])
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

  async #bringFile(log: Shown, isBinlog: boolean): Promise<string> {
    const { path, size, identity } = log
    const name = isBinlog ? basename(path) : `${relayLogPrefix}${basename(path)}`
    if (this.#isWhole(log)) return name
    const local = join(this.#folder, name)
    const have = await this.#usable(path, local, size)
    await using file = await open(local, have === 0 ? 'w' : 'r+', 0o600)
    await this.#copy(log, have, file, have)
    this.#whole.set(path, identity)
    return name
  }

  /** What the host has of a file from `from` on, to a place in a file here. */
  async #copy({ path, size }: Shown, from: number, file: FileHandle, at: number): Promise<void> {
    for (let offset = from; offset < size; offset += pieceBytes) {
      const length = Math.min(pieceBytes, size - offset)
      await writeFully(file, await this.piece(path, offset, length), at + offset - from)
    }
    await file.sync()
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
    throw unreadable(say`bytes ${offset} to ${offset + length} of ${remote} did not arrive whole`)
  }
}

/** `f 131 157 2026-01-01 10:00:00.123456789 +0000 /data/binlog.000001` */
function shownIn(line: string): readonly Shown[] {
  const [, inode, size, written, path] = /^f (\d+) (\d+) (\S+ \S+ \S+) (.*)$/.exec(line) ?? []
  if (path === undefined) return []
  return [{ path, size: Number(size), identity: `${inode} ${size} ${written}` }]
}

function gone(path: string): never {
  throw unreadable(say`${path} is gone from the host, and its index names it`)
}

/**
 * What was executed before a log began; undefined where it does not say so, as a file of which a power cut left
 * nothing. A reader of the mirror judges that as in a near folder.
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

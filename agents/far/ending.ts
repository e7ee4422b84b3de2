import { rm } from 'node:fs/promises'
import type { ProcessIdentity } from '#common/process/process-stat.ts'
import type { Ending } from '../ports/volume.ts'
import type { FarPlaces } from '../instance/config.ts'
import { readNote, writeNote } from './note.ts'
import { messages, type ErrorLogEvidence, type Message } from '../volume/error-log.ts'
import { judgeEnding, type BinlogEvidence } from '../volume/ended-how.ts'
import { endingScript, markScript } from './scripts.ts'
import type { FarShell } from './ssh.ts'

/** Where the part of the error log begins that is of one process. */
interface Mark extends ProcessIdentity {
  readonly inode: number
  readonly offset: number
}

/**
 * How the mysqld of a far host ended, as far as its error log and the first bytes of its newest binlog tell. A service
 * manager may have started others since: what any of them says of a shutdown is taken for a word of the one that ended,
 * rather than to miss that word. Where nothing is known of its part of the log, nobody knows how it ended.
 */
export class FarEnding {
  readonly #places: FarPlaces
  readonly #shell: FarShell
  readonly #markFile: string

  constructor(places: FarPlaces, shell: FarShell, markFile: string) {
    this.#places = places
    this.#shell = shell
    this.#markFile = markFile
  }

  /** To be called before this process is taken for the agent's own. An earlier mark is gone whatever happens. */
  async mark({ pid, startTicks }: ProcessIdentity): Promise<void> {
    await rm(this.#markFile, { force: true })
    const { stdout } = await this.#shell.run(markScript, [this.#places.errorLog, String(pid), String(startTicks)])
    const [inode = NaN, offset = NaN] = stdout.toString('latin1').trim().split(' ').map(Number)
    if (Number.isSafeInteger(inode) && Number.isSafeInteger(offset))
      await writeNote(this.#markFile, { pid, startTicks, inode, offset } satisfies Mark)
  }

  /** @param life the process that ended */
  async look(life: ProcessIdentity | null): Promise<Ending> {
    const { errorLog, binlogIndex, dataDir } = this.#places
    const mark = await this.#markOf(life)
    const at = [String(mark?.inode ?? ''), String(mark?.offset ?? 0)]
    const { stdout } = await this.#shell.run(endingScript, [errorLog, binlogIndex, dataDir, ...at])
    const [flags = '', name = '', found = '', ...log] = stdout.toString('latin1').split('\n')
    const isMarked = mark !== undefined && found === 'marked'
    return judgeEnding(evidenceIn(errorLog, isMarked ? log : null), newestBinlog(name, flags))
  }

  async #markOf(life: ProcessIdentity | null): Promise<Mark | undefined> {
    const mark = await readNote(this.#markFile, ['pid', 'startTicks', 'inode', 'offset'])
    return mark?.pid === life?.pid && mark?.startTicks === life?.startTicks ? mark : undefined
  }
}

function newestBinlog(name: string, flags: string): BinlogEvidence {
  if (name === '') return { kind: 'none' }
  return { kind: 'read', name, inUse: (Number.parseInt(flags, 8) & 1) === 1, stopIsLast: false }
}

/** @param log what was found behind the mark; null where that is not known */
function evidenceIn(errorLog: string, log: readonly string[] | null): ErrorLogEvidence {
  if (errorLog === '') return { kind: 'missing', why: 'its error log is not known' }
  if (log === null)
    return { kind: 'missing', why: `${errorLog} does not say where its part begins, or is another file by now` }
  const said = (Object.entries(messages) as [Message, string][]).filter(([, code]) => log.includes(code))
  const seen = new Set<Message>(['starting', 'ready', ...said.map(([message]) => message)])
  return { kind: 'read', seen, lastBinlog: '', couldWrite: true }
}

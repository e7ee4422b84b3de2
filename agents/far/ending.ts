import type { Ending } from '../ports/volume.ts'
import type { FarPlaces } from '../instance/config.ts'
import { messages, type Message } from '../volume/error-log.ts'
import { judgeEnding, type BinlogEvidence } from '../volume/ended-how.ts'
import { endingScript } from './scripts.ts'
import type { FarShell } from './ssh.ts'

/**
 * How the mysqld of a far host ended, as far as its error log and the first bytes of its newest binlog tell. The part
 * of the log that is looked at begins behind the newest message of a server that is ready: what a service manager
 * starts later than the one that ended has another.
 */
export class FarEnding {
  readonly #places: FarPlaces
  readonly #shell: FarShell

  constructor(places: FarPlaces, shell: FarShell) {
    this.#places = places
    this.#shell = shell
  }

  async look(): Promise<Ending> {
    const { errorLog, binlogIndex, dataDir } = this.#places
    const { stdout } = await this.#shell.run(endingScript, [errorLog, binlogIndex, dataDir])
    const [flags = '', name = '', ...log] = stdout.toString('latin1').split('\n')
    const binlog: BinlogEvidence =
      name === ''
        ? { kind: 'none' }
        : { kind: 'read', name, inUse: (Number.parseInt(flags, 8) & 1) === 1, stopIsLast: false }
    if (errorLog === '') return judgeEnding({ kind: 'missing', why: 'its error log is not known' }, binlog)
    const seen = new Set(
      (Object.entries(messages) as [Message, string][])
        .filter(([, code]) => log.join('\n').includes(code))
        .map(([one]) => one),
    )
    return judgeEnding(
      { kind: 'read', seen: new Set([...seen, 'starting', 'ready']), lastBinlog: '', couldWrite: true },
      binlog,
    )
  }
}

import type { FindKind } from '#backup/restore/finder.ts'
import { findInArchive, once, understood } from '#backup/transfer/find-in-archive.ts'
import { counted } from '#common/text/words.ts'
import type { ArchiveSearch, FoundTransaction, FoundTransactions } from '#failover/protocol/stored-backups.ts'
import type { Connection } from '../connection/place.ts'
import type { Io } from '../terminal/io.ts'
import { toJson } from '../terminal/json-output.ts'
import { renderTable } from '../terminal/table.ts'
import { asked, isManagersToAnswer, storeDeadlineMs } from './asked.ts'
import type { AskedOptions } from './backup-options.ts'

export interface FindOptions extends AskedOptions {
  readonly table: string
  readonly kind?: FindKind
  readonly since?: string
  readonly until?: string
}

const toldEveryMs = 2_000

type FoundAll = Omit<FoundTransactions, 'next' | 'read'>

/** Reads the pieces of the time that is meant, oldest first. Throws `REGENT_BAD_REQUEST` before a store is asked. */
export async function findBy(io: Io, wanted: string | undefined, options: FindOptions): Promise<void> {
  const { table, kind, since, until, output } = options
  const said = Object.entries({ kind, since, until }).filter(([, value]) => value !== undefined)
  const search: ArchiveSearch = { table, ...Object.fromEntries(said) }
  understood(search)
  const progress = progressOf(io)
  const signal = io.interrupted()
  const { cluster, pieces, passedOver, found } = await asked<FoundAll>(io, wanted, options, {
    here: (from) => findInArchive(from, search, { isEnough: () => false, progress, signal }),
    there: (manager) => inParts(manager, search, { progress, signal }),
  })
  if (output === 'json') return io.out(toJson({ cluster, pieces, passedOver, found: found.map(shown) }))
  print(io, found, { cluster, pieces, passedOver })
  if (found.length === 0) return
  io.note(
    isManagersToAnswer(io, wanted, options)
      ? 'spec.bootstrap.restore of a new cluster, with before: TRANSACTION, has everything before one'
      : `"regent restore NAME --cluster ${cluster} --from STORE --before TRANSACTION" has everything before one`,
  )
}

interface Following {
  readonly progress: (read: number, pieces: number) => void
  readonly signal: AbortSignal
}

/** An agent reads for some seconds at a time. Two parts may tell of one transaction, which two senders shipped. */
async function inParts(
  { client, path }: Connection,
  search: ArchiveSearch,
  { progress, signal }: Following,
): Promise<FoundAll> {
  const found: FoundTransaction[] = []
  let [after, passedOver]: [string | null, number] = [null, 0]
  for (;;) {
    signal.throwIfAborted()
    const part: FoundTransactions = await client.post(
      `${path}/backups/find`,
      { ...search, ...(after === null ? {} : { after }) },
      storeDeadlineMs,
    )
    found.push(...part.found)
    passedOver += part.passedOver
    after = part.next
    if (after === null) return { ...part, passedOver, found: once(found) }
    progress(part.read, part.pieces)
  }
}

function progressOf(io: Io): Following['progress'] {
  let toldAtMs = performance.now()
  return (read, pieces) => {
    if (performance.now() - toldAtMs < toldEveryMs) return
    toldAtMs = performance.now()
    io.note(`${read} of ${counted(pieces, 'piece')} of the archive are read`)
  }
}

function print(
  io: Io,
  found: readonly FoundTransaction[],
  { cluster, pieces, passedOver }: { readonly cluster: string; readonly pieces: number; readonly passedOver: number },
): void {
  if (passedOver > 0) io.note(`too long to be looked into, since compressed: ${counted(passedOver, 'transaction')}`)
  if (found.length === 0)
    return io.out(`nothing of that is in the archive of ${cluster} (${counted(pieces, 'piece')} read)`)
  const rows = found.map((each) => {
    const { at, kind, gtid, statement } = shown(each)
    return [at, kind, gtid, statement.replaceAll(/\s+/g, ' ').slice(0, 100)]
  })
  for (const line of renderTable(['COMMITTED', 'KIND', 'TRANSACTION', 'STATEMENT'], rows)) io.out(line)
}

function shown({ committedMs, ...found }: FoundTransaction) {
  return { at: new Date(committedMs).toISOString(), ...found }
}

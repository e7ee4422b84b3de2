import { binlogNumberIn } from '#common/mysql/binlog-number.ts'
import { decodeGtid, eventTypes } from '#binlog/events.ts'
import { isGtidEvent } from '#binlog/gtid-event.ts'
import type { BinlogPlace } from '#topology/snapshot/observation.ts'
import type { BegunUnderOthers, BinlogPart } from '../ports/volume.ts'
import { scanBinlog, stopScan } from './file.ts'
import { GtidCollector } from './gtid-collector.ts'
import { binlogFiles } from './set.ts'

/** So much is read at a time. A server that was not looked at for long may have hundreds of gigabytes. */
const readAtOnceBytes = 268_435_456

/**
 * Transactions between two places in the binlogs that began at this server itself by the name of another one: a session
 * gave that name (`SET gtid_next`). What was applied for others carries the `server_id` of where that began. Both
 * places are ends of transactions.
 *
 * What is read ends at a transaction, and before `to` where more is there than `limitBytes`. Files that were purged
 * meanwhile are passed over. Throws `REGENT_BINLOG_UNREADABLE`.
 */
export async function begunUnderOthers(
  dataDir: string,
  { uuid, from, to }: BinlogPart,
  limitBytes = readAtOnceBytes,
): Promise<BegunUnderOthers> {
  const found = new GtidCollector()
  let left = limitBytes
  for (const path of await binlogFiles(dataDir)) {
    const file = binlogNumberIn(path)
    if (file < from.file || file > to.file) continue
    const start = file === from.file ? from.position : 0
    let own: number | undefined
    let end: BinlogPlace | undefined
    const scanned = scanBinlog(
      path,
      ({ type, serverId, offset, body }) => {
        // The first event, Format_description, is this server's own.
        own ??= serverId
        if (!isGtidEvent(type)) return undefined
        if (offset - start >= left) {
          end = { file, position: offset }
          return stopScan
        }
        const gtid = serverId === own ? decodeGtid(body, type === eventTypes.gtidTagged) : null
        if (gtid !== null && !gtid.source.startsWith(uuid.toLowerCase())) found.add(gtid)
        return undefined
      },
      { from: start, until: file === to.file ? to.position : undefined, verify: false },
    )
    const read = await scanned.catch(nothingIfGone)
    if (end !== undefined) return { gtids: found.set().toString(), end }
    left -= Math.max(0, (read?.end ?? 0) - start)
  }
  return { gtids: found.set().toString(), end: to }
}

function nothingIfGone(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
  return undefined
}

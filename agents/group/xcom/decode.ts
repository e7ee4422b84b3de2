import { say } from '#common/sentence/sentence.ts'
import { operations, type Answer, type ClientReply, type Configuration, type GroupSnapshot } from './messages.ts'
import { XdrReader } from './xdr.ts'

const answers: readonly Answer[] = ['ok', 'fail', 'retry', 'redirect']
/** Host names have 255 characters at most, incarnations 18; anything much longer is no address and no incarnation. */
const mostAddressBytes = 512
const mostIncarnationBytes = 64
/** A member in a list: lengths of two empty texts, and three numbers. */
const leastMemberBytes = 20

/**
 * The body of an answer. Throws `REGENT_GROUP_PROTOCOL` where it is not exactly one of the two messages that this
 * client asks for.
 */
export function decodeAnswer(body: Buffer): ClientReply | GroupSnapshot {
  const reader = new XdrReader(body)
  reader.skip(12, 'to, from and group')
  const newest = reader.synode('the newest message')
  reader.skip(20, 'start type and ballots')
  const operation = reader.u32('the operation')
  reader.synode('the message number')
  reader.u32('the message type')
  if (reader.flag('the pointer to receivers')) reader.list('receivers', 4, () => reader.u32('a receiver'))
  reader.absent('application data')
  reader.absent('a snapshot of old kind')
  const snapshot = reader.flag('the pointer to a snapshot') ? readSnapshot(reader) : null
  const code = reader.u32('the answer')
  reader.skip(8, 'delivery and references')
  const delivered = reader.synode('the message delivered')
  const eventHorizon = reader.u32('the event horizon')
  if (reader.list('messages', 4, () => reader.u32('a message')).length > 0)
    throw reader.complaint(say`it has messages of the log, which nobody asked for`)
  reader.absent('the leaders')
  reader.end()
  return told()

  function told(): ClientReply | GroupSnapshot {
    if (operation === operations.snapshot && snapshot !== null) return snapshot
    const answer = answers[code]
    if (operation !== operations.clientReply || snapshot !== null || answer === undefined)
      throw reader.complaint(say`operation ${operation} with answer ${code} is none that this client knows`)
    return { kind: 'reply', answer, newest, delivered, eventHorizon }
  }
}

function readSnapshot(reader: XdrReader): GroupSnapshot {
  const logStart = reader.synode('the start of the log')
  const logEnd = reader.synode('the end of the log')
  const read = () => (reader.flag('the pointer to a configuration') ? [readConfiguration(reader)] : [])
  const configurations = reader.list('configurations', 4, read).flat()
  reader.bytes('the snapshot of the application', mostSnapshotBytes)
  return { kind: 'snapshot', logStart, logEnd, configurations }
}

/** Most bytes of a whole answer with a snapshot. Some configurations of nine members take a few kilobytes. */
export const mostSnapshotBytes = 1_048_576

/** Most bytes of a whole answer without a snapshot, which has 128. */
export const mostReplyBytes = 4_096

function readConfiguration(reader: XdrReader): Configuration {
  const start = reader.synode('the start of a configuration')
  const bootKey = reader.synode('the boot key')
  const members = reader.list('members', leastMemberBytes, () => {
    const address = reader.bytes('an address', mostAddressBytes).toString()
    const incarnation = reader.bytes('an incarnation', mostIncarnationBytes).toString('latin1')
    reader.skip(12, 'versions and services')
    return { address, incarnation }
  })
  const alive = reader.list('members alive', 4, () => reader.flag('whether a member is alive'))
  const eventHorizon = reader.u32('the event horizon')
  const mostLeaders = reader.u32('the number of leaders')
  reader.list('leaders', 4, () => reader.bytes('a leader', mostAddressBytes).length)
  return { start, bootKey, members, alive, eventHorizon, mostLeaders }
}

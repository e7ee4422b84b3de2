import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import {
  cargoes,
  frameTypes,
  headerBytes,
  nullSynode,
  operations,
  protocolVersion,
  type MemberIdentity,
  type Synode,
} from './messages.ts'
import { XdrWriter } from './xdr.ts'

/**
 * "No member". A message that names a member as its sender makes the others believe that that member is alive: this
 * client is nobody.
 */
const nobody = 0xffff_ffff
/** Names the first message of a connection, and all others; the answers carry them as well. */
const tags = { negotiation: 313, message: 666 } as const

/** The first message on a connection: offers the one version that this client speaks. */
export function encodeVersionRequest(): Buffer {
  return header(0, frameTypes.versionRequest, tags.negotiation)
}

/** A question that changes nothing, and that a member in any state answers. */
export function encodeStateQuestion(): Buffer {
  const cargo = new XdrWriter().u32(cargoes.getEventHorizon).done()
  return framed(message(operations.clientMessage, nullSynode, appData(0, cargo)))
}

/**
 * What a joining member asks: which configurations there are.
 * @param delivered of that member, just read from it. Anything later would make the group wait for messages that nobody
 * will ever send.
 */
export function encodeSnapshotQuestion(delivered: Synode): Buffer {
  return framed(message(operations.needBoot, delivered, new XdrWriter().u32(0).done()))
}

/**
 * Asks for the removal of one member. There is no way to write it for several, for no group or for no incarnation:
 * XCom takes group 0 for any group (seen on 9.7.4), and an empty incarnation for any.
 */
export function encodeRemoval(group: number, victim: MemberIdentity): Buffer {
  const nothing = Object.entries({ group, address: victim.address, incarnation: victim.incarnation }).find(
    ([, value]) => value === 0 || value === '',
  )
  if (nothing !== undefined)
    throw new RegentError('REGENT_INTERNAL', say`a request to remove a member without ${nothing[0]} is never sent`)
  const cargo = new XdrWriter()
    .u32(cargoes.removeNode, 1)
    .bytes(Buffer.from(victim.address))
    .bytes(Buffer.from(victim.incarnation, 'latin1'))
    // Versions that it speaks, from and to; services. Nobody compares them.
    .u32(1, protocolVersion, 7)
    .done()
  return framed(message(operations.clientMessage, nullSynode, appData(group, cargo)))
}

/** The pointer to an `app_data` and the data itself: envelope, cargo, and no next one. */
function appData(group: number, cargo: Buffer): Buffer {
  const envelope = new XdrWriter()
    .u32(1)
    .synode(nullSynode) // unique_id
    .u32(group)
    .u64(0n) // lsn
    .synode({ group, message: 0n, node: 0 }) // app_key
    .u32(0) // consensus: a majority
    .u64(0n) // expiry_time
    .u32(0, 0, 0, 0) // notused, log_it, chosen, recover
    .done()
  return Buffer.concat([envelope, cargo, Buffer.alloc(4)])
}

/** A `pax_msg` around the pointer to an `app_data`. */
function message(operation: number, synode: Synode, appData: Buffer): Buffer {
  const before = new XdrWriter()
    .u32(nobody, nobody, 0) // to, from, group_id
    .synode(nullSynode) // max_synode
    .u32(0, 0, 0, 0, 0) // start_type, reply_to, proposal
    .u32(operation)
    .synode(synode)
    .u32(0, 0) // msg_type, pointer to receivers
    .done()
  const after = new XdrWriter()
    .u32(0, 0, 0, 0, 1) // pointers to snap and gcs_snap, cli_err, force_delivery, refcnt
    .synode(nullSynode) // delivered_msg
    .u32(0, 0, 0) // event_horizon, count of requested_synode_app_data, pointer to rd
    .done()
  return Buffer.concat([before, appData, after])
}

function framed(body: Buffer): Buffer {
  return Buffer.concat([header(body.length, frameTypes.message, tags.message), body])
}

function header(length: number, type: number, tag: number): Buffer {
  const bytes = Buffer.alloc(headerBytes)
  bytes.writeUInt32BE(protocolVersion, 0)
  bytes.writeUInt32BE(length, 4)
  bytes.writeUInt8(type, 8)
  bytes.writeUInt16BE(tag, 9)
  return bytes
}

import { describe, expect, it } from 'vitest'
import { encodeRemoval, encodeSnapshotQuestion, encodeStateQuestion, encodeVersionRequest } from './encode.ts'

/** Written by hand from the layout of `pax_msg`, a line for each of its fields or a few. */
const hex = (...lines: readonly string[]) => lines.join('').replaceAll(' ', '')

const envelope = (group: string) => [
  '00000001', // an app_data is there
  '00000000 0000000000000000 00000000', // unique_id
  group,
  '0000000000000000', // lsn
  `${group} 0000000000000000 00000000`, // app_key
  '00000000', // consensus
  '0000000000000000', // expiry time
  '00000000 00000000 00000000 00000000', // notused, log_it, chosen, recover
]
const before = (operation: string, synode: string) => [
  'ffffffff ffffffff 00000000', // to, from, group_id
  '00000000 0000000000000000 00000000', // max_synode
  '00000000', // start_type
  '00000000 00000000 00000000 00000000', // reply_to, proposal
  operation,
  synode,
  '00000000 00000000', // msg_type, receivers
]
const after = [
  '00000000 00000000 00000000 00000000 00000001', // snap, gcs_snap, cli_err, force_delivery, refcnt
  '00000000 0000000000000000 00000000', // delivered_msg
  '00000000 00000000 00000000', // event_horizon, requested_synode_app_data, rd
]
const noSynode = '00000000 0000000000000000 00000000'

describe('What is sent to a member', () => {
  it('begins with a request for version 10', () => {
    expect(encodeVersionRequest().toString('hex')).toBe(hex('0000000a 00000000 01 0139 00'))
  })

  it('names one member to be removed, in 268 bytes after the header', () => {
    const sent = encodeRemoval(0x4317e324, { address: '127.0.0.1:33061', incarnation: '17637293912345678' })
    expect(sent.toString('hex')).toBe(
      hex(
        '0000000a 0000010c 00 029a 00',
        ...before('00000000', noSynode),
        ...envelope('4317e324'),
        '0000000f 00000001', // remove_node, one node
        '0000000f 3132372e302e302e313a3333303631 00', // 127.0.0.1:33061
        '00000011 3137363337323933393132333435363738 000000', // the incarnation
        '00000001 0000000a 00000007', // versions from and to, services
        '00000000', // no next app_data
        ...after,
      ),
    )
    expect(sent).toHaveLength(12 + 268)
  })

  it('asks for the event horizon of no group', () => {
    expect(encodeStateQuestion().toString('hex')).toBe(
      hex(
        '0000000a 000000d0 00 029a 00',
        ...before('00000000', noSynode),
        ...envelope('00000000'),
        '00000015 00000000',
        ...after,
      ),
    )
  })

  it('asks for a snapshot with the message that the member delivered last', () => {
    const sent = encodeSnapshotQuestion({ group: 0x4317e324, message: 0x1_0000_0002n, node: 2 })
    expect(sent.toString('hex')).toBe(
      hex(
        '0000000a 00000080 00 029a 00',
        ...before('00000011', '4317e324 0000000100000002 00000002'),
        '00000000',
        ...after,
      ),
    )
  })

  it.each([
    ['group', 0, { address: '127.0.0.1:1', incarnation: '1' }],
    ['address', 7, { address: '', incarnation: '1' }],
    ['incarnation', 7, { address: '127.0.0.1:1', incarnation: '' }],
  ])('is never a removal without %s', (what, group, victim) => {
    expect(() => encodeRemoval(group, victim)).toThrow(
      expect.objectContaining({ message: expect.stringContaining(`without ${what}`) as string }),
    )
  })
})

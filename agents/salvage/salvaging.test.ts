import { expect, it } from 'vitest'
import type { FetchOrder } from '#failover/protocol/order.ts'
import { gtids } from '#topology/testing.ts'
import { aServerState, primaryOfEpoch3, ScriptedProcess, ScriptedServer, testParts } from '../testing.ts'
import type { RelayLogPart } from '../ports/volume.ts'
import { giveTail, giveTailPart } from './giving.ts'
import { sha256Of } from '#common/files/sha256.ts'
import { nearTail } from './near-tail.ts'
import { salvage } from './salvaging.ts'

const binlog = Buffer.from('what nobody received')
const { version, cluster, member } = primaryOfEpoch3
const said = { version, cluster, member, epoch: 4 }

/** The agent of a dead primary that promised epoch 4, with `binlog` in a file. */
async function deadPrimary() {
  const process = new ScriptedProcess()
  process.state = 'dead'
  const head = Buffer.from('head')
  const parts = await testParts(new ScriptedServer(aServerState()), {
    process,
    volume: {
      findTail: async () => ({
        files: [{ name: 'binlog.000002', head, ranges: [{ offset: 0, end: binlog.length }] }],
        gtids: gtids('shop-0', 103),
        halfWrittenBytes: 9,
      }),
      readTail: async (_, offset, end) => binlog.subarray(offset, end),
    },
  })
  await parts.file.update({ promise: 4, assignment: primaryOfEpoch3 })
  return { parts, process }
}

/** What is asked of that agent, where `garble` may change its answers. */
async function tailOf(garble: (answer: object) => object = (answer) => answer) {
  const { parts } = await deadPrimary()
  const asked: string[] = []
  const post = async (_address: string, path: string, body: unknown): Promise<unknown> => {
    asked.push(path)
    return path === '/v1/tail' ? giveTail(parts, body as never) : garble(await giveTailPart(parts, body as never))
  }
  return { asked, tail: nearTail({ transport: { post }, cluster: 'shop', deadlineMs: 1_000 }) }
}

const order: FetchOrder = {
  ...said,
  revision: 11,
  from: { instance: 'shop-0', host: '127.24.1.1', port: 3306, agent: '127.24.1.1:9400' },
  until: gtids('shop-0', 103),
  deadlineMs: 10_000,
  salvage: member,
}

/** The one that is elected, and what was written there. */
async function elected(tail: Awaited<ReturnType<typeof tailOf>>['tail']) {
  const server = new ScriptedServer(aServerState({ executed: gtids('shop-0', 99), received: gtids('shop-0', 100) }))
  const written: RelayLogPart[] = []
  const parts = await testParts(server, {
    volume: {
      writeTail: async (given) => {
        for await (const part of given) written.push(part)
        return 'relay-bin-regent_tail.000001'
      },
    },
  })
  return { parts: { ...parts, tail }, server, written }
}

it('What the volume of a dead primary has is written and applied, after all that was received, and that is told', async () => {
  const { tail } = await tailOf()
  const { parts, server, written } = await elected(tail)
  await salvage(parts, order, member)
  expect(written).toEqual([{ head: Buffer.from('head') }, { bytes: binlog }])
  expect(server.calls).toEqual([
    'forgetTail',
    'startApplier',
    `waitApplied ${gtids('shop-0', 100)}`,
    expect.stringMatching(/^applyTail relay-bin-regent_tail\.000001 .*:101-103$/),
  ])
  expect(parts.notices.list.map(({ sentence }) => sentence)).toEqual([
    '3 transactions that only shop-0 had came from its volume; its last one was half written (9 bytes), was never acknowledged, and is left out',
  ])
})

it('Nothing is applied where the volume has not all of that any more', async () => {
  const { tail } = await tailOf()
  const { parts, server } = await elected(tail)
  await expect(salvage(parts, { ...order, until: gtids('shop-0', 109) }, member)).rejects.toMatchObject({
    code: 'REGENT_REFUSED',
    message: expect.stringContaining('the binlogs of shop-0 do not have 6 transactions any more') as string,
  })
  expect(server.calls.filter((call) => call.startsWith('applyTail'))).toEqual([])
})

it('A part that does not arrive whole is asked for again, and given up where it never does', async () => {
  let left = 1
  const { asked, tail } = await tailOf((answer) =>
    left-- > 0 ? { ...answer, sha256: sha256Of(Buffer.from('')) } : answer,
  )
  const { parts, written } = await elected(tail)
  await salvage(parts, order, member)
  expect(written.at(-1)).toEqual({ bytes: binlog })
  expect(asked).toEqual(['/v1/tail', '/v1/tail-part', '/v1/tail-part'])
  left = 9
  await expect(salvage(parts, order, member)).rejects.toMatchObject({ code: 'REGENT_BINLOG_UNREADABLE' })
})

it('A tail is given under the promise of that very epoch, and with mysqld down', async () => {
  const { parts, process } = await deadPrimary()
  const asked = { ...said, gtids: '' }
  await expect(giveTail(parts, asked)).resolves.toMatchObject({ halfWrittenBytes: 9 })
  await expect(giveTail(parts, { ...asked, epoch: 5 })).rejects.toMatchObject({ code: 'REGENT_REFUSED' })
  process.state = 'running'
  await expect(giveTail(parts, asked)).rejects.toMatchObject({ code: 'REGENT_REFUSED' })
  await expect(giveTailPart(parts, { ...said, file: 'binlog.000002', offset: 0, end: 1 })).rejects.toMatchObject({
    code: 'REGENT_REFUSED',
  })
})

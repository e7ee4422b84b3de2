import { expect, it } from 'vitest'
import type { LeaseVote } from '#failover/protocol/word.ts'
import { gtids } from '#topology/testing.ts'
import type { Watcher } from '#common/watch/watcher.ts'
import { BinlogKeeper } from './binlog-keeper.ts'
import type { BinlogFile } from '../ports/volume.ts'
import type { Parts } from '../instance/parts.ts'
import { aServerState, primaryOfEpoch3, ScriptedServer, testParts, watcherOf } from '../testing.ts'

const names = ['binlog.000001', 'binlog.000002', 'binlog.000003']
/** Each file ends ten transactions after the one before it. */
const endOf = (name: string): string => gtids('shop-0', Number(name.slice(-1)) * 10)

/** shop-0 with three old binlogs; `answers` are what its peers say, shop-1 first. */
async function keeping(
  answers: readonly (Partial<LeaseVote> | undefined)[],
  heldBinlogsBytes = 1e9,
): Promise<{
  parts: Parts
  server: ScriptedServer
  keeper: Watcher
  answers: (Partial<LeaseVote> | undefined)[]
}> {
  const server = new ScriptedServer(aServerState({ executed: gtids('shop-0', 30) }))
  const listBinlogs = async (): Promise<readonly BinlogFile[]> => {
    const purged =
      server.calls.findLast((call) => call.startsWith('purge before '))?.slice('purge before '.length) ?? ''
    return names.filter((name) => name >= purged).map((name) => ({ name, bytes: 100, writtenAtMs: 0 }))
  }
  const previousGtids = async (name: string): Promise<string> =>
    endOf(`binlog.${String(Number(name.slice(-6)) - 1).padStart(6, '0')}`)
  const parts = await testParts(server, { volume: { listBinlogs, previousGtids } })
  const current = [...answers]
  const post = async (address: string): Promise<unknown> => {
    const answer = current[Number(address) - 1]
    if (answer === undefined) throw new Error('unreachable')
    return { granted: true, promise: 3, ...answer }
  }
  const peers = ['shop-0', 'shop-1', 'shop-2'].map((instance, ordinal) => ({
    instance,
    host: '',
    port: 3306,
    agent: String(ordinal),
  }))
  await parts.file.update({ promise: 3, assignment: { ...primaryOfEpoch3, peers } })
  await parts.observer.refresh()
  // One round each time: the interval is nothing.
  const config = { ...parts.config, keepBinlogsSeconds: 1, heldBinlogsBytes }
  let roundMs = 0
  const clock = { ...parts.world.clock, monotonicMs: () => (roundMs += 1_000_000), wallMs: () => 1_000_000 }
  return {
    parts,
    server,
    keeper: watcherOf(
      parts,
      new BinlogKeeper({ ...parts, config, transport: { post }, world: { ...parts.world, clock } }),
    ),
    answers: current,
  }
}

const all = { executed: gtids('shop-0', 30) }

it('An agent purges old binlogs that everybody has, one after the other, and never the newest', async () => {
  const { keeper, server } = await keeping([all, all])
  await keeper.look()
  expect(server.calls).toEqual(['purge before binlog.000002', 'purge before binlog.000003'])
})

it.each([
  ['lacks some of it', { executed: gtids('shop-0', 15) }, ['purge before binlog.000002']],
  ['lacks all of it', { executed: '' }, []],
  ['never answered', undefined, []],
  ['runs an agent that does not say what it holds', {}, []],
  ['does not know what it holds', { executed: null }, []],
])('An agent holds binlogs for a member that %s, and says so once', async (_what, answer, expected) => {
  const { keeper, server, parts } = await keeping([all, answer])
  await keeper.look()
  await keeper.look()
  expect(server.calls).toEqual(expected)
  expect(parts.notices.list.map(({ code }) => code)).toEqual(['BinlogsHeld'])
  expect(String(parts.notices.list[0]?.sentence)).toContain('shop-2')
})

it('A member that does not answer any more holds what it said last', async () => {
  const { keeper, server, answers } = await keeping([all, { executed: gtids('shop-0', 15) }])
  await keeper.look()
  answers[1] = undefined
  await keeper.look()
  expect(server.calls).toEqual(['purge before binlog.000002'])
})

it('Over the limit the oldest binlogs go although a member lacks them, and it is named', async () => {
  const { keeper, server, parts } = await keeping([all, undefined], 250)
  await keeper.look()
  expect(server.calls).toEqual(['purge before binlog.000002'])
  expect(parts.notices.list.map(({ code }) => code)).toEqual(['BinlogsPurged', 'BinlogsHeld'])
  expect(String(parts.notices.list[0]?.sentence)).toMatch(/^binlog.000001 .*shop-2/)
})

it('An agent whose server is being seeded, or is not known, purges nothing', async () => {
  const { keeper, server, parts } = await keeping([all, all])
  await parts.file.update({ seeding: true })
  await keeper.look()
  await parts.file.update({ seeding: false, assignment: null })
  await keeper.look()
  expect(server.calls).toEqual([])
})

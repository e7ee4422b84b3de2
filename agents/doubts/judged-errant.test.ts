import { expect, it } from 'vitest'
import { gtids } from '#topology/testing.ts'
import { aServerState, quietVolume, ScriptedServer, testParts } from '../testing.ts'
import { settable } from '../testing-known.ts'
import { judgeErrant } from './judged-errant.ts'

const errant = gtids('shop-0', 3)

it.each([
  ['none of them changed data', async () => errant, true],
  ['one of them did, or is in no binlog', async () => gtids('shop-0', 2), false],
  ['they cannot be read', () => Promise.reject(new Error('no such file')), false],
])('Errant transactions are harmless only where the binlogs say so: %s', async (_, withoutEffect, changesNothing) => {
  const parts = await testParts(new ScriptedServer(aServerState()), { volume: { ...quietVolume, withoutEffect } })
  settable(parts).told.errant = errant
  let judged = 0
  await judgeErrant(parts, () => (judged += 1))
  await judgeErrant(parts, () => (judged += 1))
  expect(parts.told.errantJudged).toEqual({ of: errant, changesNothing })
  expect(judged).toBe(1)
})

it('What was read of fewer transactions takes nothing back of what was read of more, whichever ends last', async () => {
  const more = gtids('shop-0', 4)
  const slow = Promise.withResolvers<string>()
  const withoutEffect = (of: string) => (of === errant ? slow.promise : Promise.resolve(of))
  const parts = await testParts(new ScriptedServer(aServerState()), { volume: { ...quietVolume, withoutEffect } })
  settable(parts).told.errant = errant
  const early = judgeErrant(parts, () => undefined)
  settable(parts).told.errant = more
  await judgeErrant(parts, () => undefined)
  slow.resolve(errant)
  await early
  expect(parts.told.errantJudged).toEqual({ of: more, changesNothing: true })
})

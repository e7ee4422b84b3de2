import { describe, expect, it } from 'vitest'
import { parseGtidSet } from '#topology/gtid/gtid-set.ts'
import { judgeOwned, ownedCount, ownedSet, ownedStatement } from './owned-gtids.ts'
import type { Sql } from '../connections/statements.ts'

const a = '3e11fa47-71ca-11e1-9e33-c80aa9429562'
const b = '4e11fa47-71ca-11e1-9e33-c80aa9429562'

describe('owned GTIDs', () => {
  it.each([
    ['', '', 0],
    [`${a}:23#15`, `${a}:23`, 1],
    [`${a}:24#16:23#15`, `${a}:23-24`, 2],
    [`${a}:23#15,\n${b}:7#9:9#11`, `${a}:23,${b}:7:9`, 3],
    [`${a}:backup:4#21`, `${a}:backup:4`, 1],
  ])('printed as %j are the set %j', (printed, set, count) => {
    expect(parseGtidSet(ownedSet(printed)).toString()).toBe(set)
    expect(ownedCount(printed)).toBe(count)
  })
})

describe('owned GTIDs of a server with a channel', () => {
  const answering = (owned: string, appliers: readonly number[], received: string, executed: string) => {
    const readAll = async (statements: readonly string[]) => {
      expect(statements[0]).toBe(ownedStatement)
      return [[{ owned }], appliers.map((id) => ({ id })), [{ received }], [{ executed }]]
    }
    return { readAll } as unknown as Sql
  }

  it('that its appliers own and nobody received are there in part', async () => {
    const sql = answering(`${a}:15#7`, [7, 8], `${a}:8-14`, `${a}:1-14`)
    expect(await judgeOwned(sql, { printed: `${a}:15#7`, received: `${a}:8-14`, executed: `${a}:1-13` })).toEqual({
      whole: '',
      partial: `${a}:15`,
    })
  })

  it.each([
    ['the rest has come meanwhile', `${a}:15#7`, `${a}:8-15`, `${a}:1-14`],
    ['it is committed meanwhile', '', `${a}:8-14`, `${a}:1-15`],
    ['a client owns it', `${a}:15#9`, `${a}:8-14`, `${a}:1-14`],
  ])('are whole where %s', async (_, later, received, executed) => {
    const seen = { printed: `${a}:15#7`, received: `${a}:8-14`, executed: `${a}:1-14` }
    const judged = await judgeOwned(answering(later, [7], received, executed), seen)
    expect(judged).toEqual({ whole: `${a}:15`, partial: '' })
  })

  it('are in part where nobody owns them any more: they were rolled back', async () => {
    const seen = { printed: `${a}:15#7`, received: '', executed: `${a}:1-14` }
    expect((await judgeOwned(answering('', [7], '', `${a}:1-14`), seen)).partial).toBe(`${a}:15`)
  })

  it('are not asked about where they are received, or no channel is there', async () => {
    const sql = { readAll: () => expect.unreachable() } as unknown as Sql
    const printed = `${a}:15#7`
    for (const received of [undefined, `${a}:8-15`])
      expect((await judgeOwned(sql, { printed, received, executed: `${a}:1-14` })).whole).toBe(`${a}:15`)
  })

  it('of an applier are left out of the set, with the tags of others kept', () => {
    expect(ownedSet(`${a}:4#21:5#7:backup:4#21,\n${b}:1#7`, new Set([7]))).toBe(`${a}:4,${a}:backup:4`)
  })
})

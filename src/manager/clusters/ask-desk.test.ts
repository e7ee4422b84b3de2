import { describe, expect, it, vi } from 'vitest'
import { aSituation } from '#failover/testing.ts'
import type { AskAnswer } from '#failover/protocol/word.ts'
import type { AskedFor } from '#topology/snapshot/observation.ts'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import type { OperationResult } from '#api-contract/operation-result.ts'
import { AskDesk } from './ask-desk.ts'

const done: OperationResult = { done: true, dryRun: false, sentence: 'shop-1 leads' }
const away: AskedFor = { wants: 'switchover', from: 'shop-0', to: null }

/** A manager that sees an ask of the agent of shop-2, again and again. */
function deskFor(asked: AskedFor, { fails, refusals = 0 }: { fails?: RegentError; refusals?: number } = {}) {
  const did: unknown[] = []
  const told: (readonly [string, AskAnswer])[] = []
  let refusing = refusals
  const desk = new AskDesk({
    operations: {
      perform: async (name, request) => {
        did.push({ [name]: request })
        if (fails) throw fails
        return done
      },
    },
    transport: {
      post: async (address, _route, body) => {
        if (refusing-- > 0) throw new Error('the agent starts')
        told.push([address, body as AskAnswer])
        return {}
      },
    },
    failed: () => undefined,
  })
  const shows = (asks: boolean) => {
    const input = aSituation({
      views: { 'shop-2': asks ? { asks: [{ id: 'ask-1', remainingMs: 9_000, ...asked }] } : {} },
    })
    desk.look(input)
  }
  return { did, told, look: () => shows(true), forget: () => shows(false) }
}

const outcomes = (told: readonly (readonly [string, AskAnswer])[]) =>
  told.map(([, { id, outcome, sentence }]) => [id, outcome, sentence])

describe('A manager that leads', () => {
  it('does once what an agent asks for, however often that is shown, and tells that agent', async () => {
    const { did, told, look } = deskFor(away)
    look()
    look()
    await vi.waitUntil(() => told.length > 0)
    look()
    expect(did).toEqual([
      {
        switchover: {
          from: 'shop-0',
          to: undefined,
          timeoutMs: 9_000,
          reason: 'asked for at shop-2, by a lifecycle action',
          dryRun: false,
        },
      },
    ])
    expect(outcomes(told)).toEqual([['ask-1', 'done', 'shop-1 leads']])
    expect(told[0]?.[1].member).toMatch(/^shop-2@/)
  })

  it('tells again where the answer was lost, and does nothing again', async () => {
    const { did, told, look } = deskFor(away, { refusals: 2 })
    await vi.waitUntil(() => {
      look()
      return told.length > 0
    })
    expect(did).toHaveLength(1)
  })

  it('says why what is asked for is refused, or was not done in time', async () => {
    for (const [code, outcome] of [
      ['REGENT_REFUSED', 'refused'],
      ['REGENT_NOT_FOUND', 'refused'],
      ['REGENT_TIMED_OUT', 'timedOut'],
    ] as const) {
      const { told, look } = deskFor(away, { fails: new RegentError(code, say`the cluster is paused`) })
      look()
      await vi.waitUntil(() => told.length > 0)
      expect(outcomes(told)).toEqual([['ask-1', outcome, 'the cluster is paused']])
    }
  })

  it('does nothing where what is asked for is so already', async () => {
    for (const [asked, sentence] of [
      [{ wants: 'switchover', from: 'shop-1', to: 'shop-0' }, 'shop-0 is the primary already'],
      [{ wants: 'switchover', from: 'shop-1', to: null }, 'shop-1 is not the primary: shop-0 is'],
    ] as const) {
      const { did, told, look } = deskFor(asked)
      look()
      await vi.waitUntil(() => told.length > 0)
      expect(did).toEqual([])
      expect(outcomes(told)).toEqual([['ask-1', 'done', sentence]])
    }
  })

  it('moves no primary that the caller did not mean', async () => {
    const { did, told, look } = deskFor({ wants: 'switchover', from: 'shop-1', to: 'shop-2' })
    look()
    await vi.waitUntil(() => told.length > 0)
    expect(did).toEqual([])
    expect(outcomes(told)).toEqual([
      ['ask-1', 'refused', 'no switchover from shop-1 to shop-2: shop-1 is not the primary: shop-0 is'],
    ])
  })

  it('fences a primary that stays the primary, and lets it go', async () => {
    for (const wants of ['fence', 'unfence'] as const) {
      const { did, told, look } = deskFor({ wants, instance: 'shop-0' })
      look()
      await vi.waitUntil(() => told.length > 0)
      const request = { instance: 'shop-0', dryRun: false }
      expect(did).toEqual([{ [wants]: wants === 'fence' ? { ...request, keepPrimary: true } : request }])
    }
  })

  it('forgets what is shown no more', async () => {
    const { did, told, look, forget } = deskFor(away)
    look()
    await vi.waitUntil(() => told.length > 0)
    forget()
    look()
    await vi.waitUntil(() => told.length > 1)
    expect(did).toHaveLength(2)
  })
})

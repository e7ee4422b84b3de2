import { expect, it } from 'vitest'
import type { ServerState } from '#topology/snapshot/observation.ts'
import { gtids, uuidOf } from '#topology/testing.ts'
import { aServerState, ScriptedServer, testParts } from '../testing.ts'
import { comparedNow, hearQuestion } from './compared.ts'

/** A server whose answers a test gives one by one. */
class SlowServer extends ScriptedServer {
  readonly answers: ((state: ServerState) => void)[] = []
  override readonly readState = (): Promise<ServerState> => new Promise((resolve) => this.answers.push(resolve))
}

const as = `shop-1@volume-1 ${uuidOf('shop-1')}`
const held = (last: number) => ({ 'shop-1': { as, gtids: gtids('shop-9', last) } })
const having = (last: number) => aServerState({ executed: gtids('shop-9', last) })
const unanswered = { question: 0, lacks: {} }

it('A primary answers what it lacks by a look that began after the question, not by the one that was under way', async () => {
  const server = new SlowServer(having(1))
  const parts = await testParts(server)
  const changes: unknown[] = []
  const underWay = parts.observer.refresh()
  hearQuestion({ ...parts, changed: () => void changes.push(comparedNow(parts)) }, { question: 7, held: held(3) })
  server.answers[0]?.(having(1))
  await underWay
  expect(comparedNow(parts)).toEqual(unanswered)
  await expect.poll(() => server.answers.length).toBe(2)
  server.answers[1]?.(having(2))
  await expect.poll(() => changes).toHaveLength(1)
  expect(changes[0]).toEqual({ question: 7, lacks: { 'shop-1': { as, gtids: `${uuidOf('shop-9')}:3` } } })
})

it('A primary that is asked again goes on with the answer before until it has looked, and what it has by then it lacks no more', async () => {
  const server = new ScriptedServer(having(1))
  const parts = await testParts(server)
  hearQuestion(parts, { question: 1, held: held(3) })
  await parts.observer.refresh()
  await parts.observer.refresh()
  expect(comparedNow(parts).question).toBe(1)
  const answers: ((state: ServerState) => void)[] = []
  server.readState = () => new Promise((resolve) => answers.push(resolve))
  hearQuestion(parts, { question: 2, held: held(4) })
  hearQuestion(parts, { question: 3, held: held(5) })
  expect(comparedNow(parts)).toEqual({ question: 1, lacks: { 'shop-1': { as, gtids: `${uuidOf('shop-9')}:2-3` } } })
  // This look began for the second question, before the third one.
  answers[0]?.(having(4))
  await expect.poll(() => answers.length).toBe(2)
  expect(comparedNow(parts).question).toBe(1)
  answers[1]?.(having(4))
  await expect.poll(() => comparedNow(parts).question).toBe(3)
  expect(comparedNow(parts)).toEqual({ question: 3, lacks: { 'shop-1': { as, gtids: `${uuidOf('shop-9')}:5` } } })
})

it('A mysqld that was started anew answers by what it says itself', async () => {
  const parts = await testParts(new ScriptedServer(having(1)))
  hearQuestion(parts, { question: 1, held: held(3) })
  await parts.observer.refresh()
  parts.observer.forget()
  expect(comparedNow(parts)).toEqual(unanswered)
})

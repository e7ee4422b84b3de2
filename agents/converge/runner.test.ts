import { say } from '#common/sentence/sentence.ts'
import { describe, expect, it } from 'vitest'
import { learn } from '../instance/learn.ts'
import { lifeOf } from '../instance/life.ts'
import type { NextPass } from './steps.ts'
import { aServerState, ScriptedProcess, ScriptedServer, testParts } from '../testing.ts'
import { groupSteps } from '../group/steps.ts'
import { semisyncSteps } from '../semisync/steps.ts'
import { runPass } from './runner.ts'
import { performers } from './steps.ts'

const held = { epoch: 3, holds: 'a:1-5', executed: 'a:1-5', asPrimary: false }

describe('What a pass finds out', () => {
  it('is known only once what the pass stores is on disk', async () => {
    const parts = await testParts(new ScriptedServer(aServerState()))
    const seen: unknown[] = []
    const pass = runPass(parts, {
      store: { forgetful: true },
      now: [{ fact: 'converged', sentence: say`forgets` }],
      next: 'soon',
    })
    seen.push(parts.course.converged.sentence)
    await pass
    seen.push(parts.course.converged.sentence)
    expect(seen).toEqual(['starting', 'forgets'])
    expect(parts.file.current.forgetful).toBe(true)
  })

  it('counts for its own mysqld alone: of the next one nothing is known', async () => {
    const process = new ScriptedProcess()
    const judgeTail = async () => {
      process.pid = 1_001
      return { kind: 'nothing' } as const
    }
    const parts = await testParts(new ScriptedServer(aServerState()), { process, volume: { judgeTail } })
    await runPass(parts, { steps: [{ do: 'judgeTail', sourceHolds: '' }], next: 'soon' })
    expect(lifeOf(parts)).toMatchObject({ pid: 1_001, tail: null })
  })

  it.each<[string, NextPass, boolean]>([
    ['a doubt', { now: [{ fact: 'electedLacks', lacksElected: 'a:1' }], next: 'at once' }, true],
    ['what was made of mysqld', { then: [{ fact: 'marked', revision: 7 }], next: 'at once' }, true],
    ['what is on disk', { store: { opened: true }, next: 'at once' }, true],
    ['what was known before', { then: [{ fact: 'reported', report: held }], next: 'at once' }, false],
    [
      'what convergence says of itself',
      { now: [{ fact: 'converged', sentence: say`connecting` }], next: 'at once' },
      false,
    ],
    ['nothing', { next: 'at once' }, false],
  ])('may lead to another decision, or not: %s', async (_, pass, isNew) => {
    const parts = await testParts(new ScriptedServer(aServerState()))
    learn(parts, { fact: 'reported', report: { ...held } })
    expect(await runPass(parts, pass)).toBe(isNew)
  })
})

it('No two modes mean different things by one step: there is one table of all', () => {
  for (const table of [semisyncSteps, groupSteps]) expect(performers).toMatchObject(table)
})

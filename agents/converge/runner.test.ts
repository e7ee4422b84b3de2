import { describe, expect, it } from 'vitest'
import { lifeOf } from '../instance/life.ts'
import { aServerState, ScriptedProcess, ScriptedServer, testParts } from '../testing.ts'
import { groupSteps } from '../group/steps.ts'
import { semisyncSteps } from '../semisync/steps.ts'
import { runPass } from './runner.ts'
import { performers } from './steps.ts'

describe('What a pass finds out', () => {
  it('is known only once what the pass stores is on disk', async () => {
    const parts = await testParts(new ScriptedServer(aServerState()))
    const seen: unknown[] = []
    const pass = runPass(parts, {
      store: { forgetful: true },
      now: [{ fact: 'converged', sentence: 'forgets' }],
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
})

it('No two modes mean different things by one step: there is one table of all', () => {
  for (const table of [semisyncSteps, groupSteps]) expect(performers).toMatchObject(table)
})

import { describe, expect, it } from 'vitest'
import { lifeOf } from '../instance/life.ts'
import { aServerState, ScriptedProcess, ScriptedServer, testParts } from '../testing.ts'
import { runPass } from './runner.ts'

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
    const parts = await testParts(new ScriptedServer(aServerState()), { process })
    const marked = {
      name: 'mark',
      run: async () => {
        process.pid = 1_001
        return { fact: 'marked', revision: 7 } as const
      },
    }
    await runPass(parts, { steps: [marked], next: 'soon' })
    expect(lifeOf(parts)).toMatchObject({ pid: 1_001, markedRevision: 0 })
  })
})

import { expect, it } from 'vitest'
import { aServerState, ScriptedProcess, ScriptedServer, testParts } from '../testing.ts'
import { changeLife } from '../testing-known.ts'
import { freshLife } from './life.ts'
import { lifeOf } from './life.ts'
import { opened } from '../testing-passes.ts'

it('What is remembered of a mysqld outlives that mysqld, and is forgotten when the next one starts', async () => {
  const process = new ScriptedProcess()
  const parts = await testParts(new ScriptedServer(aServerState()), { process })
  changeLife(parts, { stage: opened, isRestarted: true })
  process.state = 'dead'
  expect(lifeOf(parts)).toMatchObject({ pid: 1_000, stage: opened, isRestarted: true })
  process.pid = 1_001
  expect(lifeOf(parts)).toEqual(freshLife(1_001))
})

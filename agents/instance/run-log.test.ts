import { expect, it } from 'vitest'
import { RunLog } from './run-log.ts'

it('A log of runs keeps each stage, how far a run is now and then, and the newest steps', () => {
  let nowMs = 0
  const log = new RunLog({ monotonicMs: () => nowMs })
  const said = (stage: string, sentence: string, name = 'a') => log.add({ kind: 'backup', name, stage, sentence })
  said('copies', 'copies')
  said('copies', 'copies on')
  nowMs = 500
  said('sends', '1 MiB')
  said('copies', 'copies', 'b')
  nowMs = 9_000
  said('sends', '2 MiB')
  nowMs = 10_600
  said('sends', '3 MiB')
  said('failed', 'the store is away')
  expect(log.list.map(({ agoMs, name, sentence }) => `${agoMs} ${name} ${sentence}`)).toEqual([
    '10600 a copies',
    '10100 a 1 MiB',
    '10100 b copies',
    '0 a 3 MiB',
    '0 a the store is away',
  ])
  for (let run = 0; run < 300; run += 1) said('done', 'done', `run ${run}`)
  expect([log.list.length, log.list.at(-1)?.name]).toEqual([200, 'run 299'])
})

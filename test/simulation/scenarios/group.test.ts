import { expect, it } from 'vitest'
import { Scenario } from '../scenario.ts'

it('A group is formed once, everybody joins, and writes are on every instance', async () => {
  const scenario = await Scenario.begin({ instances: 3, spec: { mode: 'group' } })
  expect(scenario.cluster.groups?.ledgers).toHaveLength(1)
  for (let write = 0; write < 5; write += 1) await scenario.writeAcknowledged()
  await scenario.heal()
})

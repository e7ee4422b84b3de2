import { expect, it } from 'vitest'
import { Scenario } from '../scenario.ts'

it('A replica that applied under a replication filter of a hand counts no more and is seeded, also once the filter is gone', async () => {
  const scenario = await Scenario.begin({ instances: 3 })
  const replica = scenario.machine(1)
  const { mysqld, folder } = replica
  scenario.say('a hand sets a replication filter')
  if (mysqld) mysqld.isFiltered = true
  const write = await scenario.writeAcknowledged()
  await scenario.until('it has applied that without its rows', () => folder?.hollow.contains(write.gtid) === true)
  await scenario.until('its agent has removed the filter', () => mysqld?.isFiltered === false)
  await scenario.until('it counts no more', () => !scenario.syncSet.includes(replica.name), 10_000)
  await scenario.heal()
  expect(replica.folder?.hollow.isEmpty()).toBe(true)
})

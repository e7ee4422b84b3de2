import { expect, it } from 'vitest'
import { Scenario } from '../scenario.ts'

it('A replica where a hand skips a transaction of its primary counts no more, and is seeded again', async () => {
  const scenario = await Scenario.begin({ instances: 3 })
  await scenario.writeAcknowledged()
  await scenario.goOn(3_000)
  const machine = scenario.machine(1)
  const { folder, mysqld } = machine
  scenario.say(`a hand skips at ${machine.name} what the primary gives next`)
  const { gtid } = scenario.write()
  mysqld?.commitNew(false, () => undefined, gtid)
  await scenario.until('it counts no more', () => !scenario.syncSet.includes(machine.name), 5_000)
  await scenario.until('it is a copy', () => machine.folder !== folder)
  await scenario.heal()
  expect(scenario.record.epoch).toBe(1)
})

it('An empty transaction that a primary writes for a harmless one of a replica raises no doubt, also once it follows', async () => {
  const scenario = await Scenario.begin({ instances: 3 })
  await scenario.writeAcknowledged()
  await scenario.goOn(3_000)
  const primary = scenario.machine(0)
  const { folder } = primary
  const replica = scenario.machine(1)
  const gtid = replica.mysqld?.flush().gtid
  await scenario.until(
    'the primary has an empty one',
    () => gtid !== undefined && folder?.executed.contains(gtid) === true,
    20_000,
  )
  scenario.askForSwitchover(replica)
  await scenario.until('another one leads', () => scenario.primary === replica)
  await scenario.heal()
  await scenario.goOn(5_000)
  expect(primary.folder).toBe(folder)
})

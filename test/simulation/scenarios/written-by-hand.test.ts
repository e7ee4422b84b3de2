import { expect, it } from 'vitest'
import { Scenario } from '../scenario.ts'

it('What a hand wrote on a replica that had promised, and died as primary before it opened, is archived, and the instance is whole again', async () => {
  const scenario = await Scenario.begin({ instances: 3 })
  const { cluster } = scenario
  const [first, second, third] = [scenario.machine(0), scenario.machine(1), scenario.machine(2)]
  for (const replica of [second, third]) scenario.holdApplier(replica)
  await scenario.writeAcknowledged()
  await scenario.goOn(100)
  scenario.kill(first)
  await scenario.until('shop-1 has promised', () => cluster.observation('shop-1')?.promiseReport?.epoch === 2)
  scenario.say('a hand writes on shop-1')
  const written = second.mysqld?.commitNew(false, () => undefined)
  if (written === undefined) throw new Error('nothing is written')
  await scenario.until('shop-1 opens', () => cluster.observation('shop-1')?.stored.assignment?.role === 'primary')
  scenario.kill(second)
  scenario.releaseApplier(third)
  await scenario.until('shop-2 leads', () => scenario.primary === third)
  await scenario.heal()
  await scenario.until('what the hand wrote is archived and gone', () => {
    const { executed } = second.folder ?? third.folder ?? {}
    return executed?.contains(written.gtid) === false
  })
  expect(second.archived.join()).toContain(written.gtid.toString())
})

import { expect, it } from 'vitest'
import { GtidSet, parseGtidSet } from '#topology/gtid/gtid-set.ts'
import type { Machine } from '../machine.ts'
import { Scenario } from '../scenario.ts'

/** A hand writes on each of these. */
function writtenByHand(scenario: Scenario, machines: readonly Machine[]) {
  scenario.say(`a hand writes on ${machines.map(({ name }) => name).join(' and ')}`)
  return machines.map((machine) => {
    const written = machine.mysqld?.commitNew(false, () => undefined)
    if (written === undefined) throw new Error('nothing is written')
    return { machine, errant: written.gtid }
  })
}

/** Lets time go by, with the primary open at every look, and somebody who acknowledges. */
async function whileThePrimaryServes(scenario: Scenario, until: () => boolean, withinMs: number): Promise<void> {
  const { primary } = scenario
  for (let ms = 0; ms < withinMs && !until(); ms += 20) {
    await scenario.goOn(20)
    expect(primary.mysqld?.mayWrite).toBe(true)
    expect(scenario.record.epoch).toBe(1)
    if (ms % 500 === 0) await scenario.writeAcknowledged(primary)
  }
  expect(until()).toBe(true)
}

it('Where all replicas have errant transactions, one is seeded after the other, while the rest serves and the primary stays open', async () => {
  const scenario = await Scenario.begin({ instances: 3 })
  const { cluster, primary } = scenario
  const replicas = cluster.machines.filter((machine) => machine !== primary)
  const written = writtenByHand(scenario, replicas)
  await whileThePrimaryServes(
    scenario,
    () =>
      written.every(({ machine, errant }) => machine.folder?.executed.contains(errant) === false) &&
      scenario.syncSet.length === 2,
    60_000,
  )
  for (const { machine, errant } of written)
    expect(machine.archived.some((gtids) => parseGtidSet(gtids).contains(errant))).toBe(true)
  await scenario.heal()
})

it('The only replica, with errant transactions, goes on acknowledging; once another one counts it is seeded again', async () => {
  const scenario = await Scenario.begin({ instances: 2 })
  const { cluster, primary } = scenario
  const [replica = primary] = cluster.machines.filter((machine) => machine !== primary)
  const errant = writtenByHand(scenario, [replica]).reduce((all, one) => all.union(one.errant), GtidSet.empty)
  await whileThePrimaryServes(scenario, () => scenario.sentence.includes('goes on acknowledging'), 10_000)
  expect(scenario.sentence).toMatch(
    /shop-1 has 1 errant transaction \(.*\) and goes on acknowledging: too few others can\. Add a replica \(regent local scale shop 3\): /,
  )
  expect(scenario.syncSet).toEqual(['shop-1'])
  expect(replica.folder?.executed.contains(errant)).toBe(true)
})

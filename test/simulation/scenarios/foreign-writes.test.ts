import { expect, it } from 'vitest'
import { GtidSet } from '#topology/gtid/gtid-set.ts'
import { uuidAbroad } from '../clients.ts'
import { Scenario } from '../scenario.ts'

/** Names of transactions as another server would give them. */
function names(): () => GtidSet {
  let last = 0
  return () => GtidSet.single(uuidAbroad, (last += 1))
}

it('Replicas of a primary whose clients write with GTIDs of another server are not errant: they count, and nothing is archived', async () => {
  const scenario = await Scenario.begin({ instances: 3 })
  const { cluster, primary } = scenario
  const replicas = cluster.machines.filter((machine) => machine !== primary)
  const uuids = replicas.map(({ folder }) => folder?.uuid)
  scenario.writeOften(primary, 3, names())
  for (let ms = 0; ms < 6_000; ms += 50) {
    await scenario.goOn(50)
    expect(scenario.sentence).not.toContain('errant')
    expect(scenario.syncSet).toHaveLength(2)
  }
  expect(replicas.map(({ folder }) => folder?.uuid)).toEqual(uuids)
  expect(replicas.flatMap(({ archived }) => archived)).toEqual([])
  await scenario.heal()
})

it('A replica that comes back beside such writes counts again', async () => {
  const scenario = await Scenario.begin({ instances: 3 })
  const { primary, cluster } = scenario
  const replica = cluster.machines.find((machine) => machine !== primary) ?? primary
  scenario.writeOften(primary, 3, names())
  scenario.kill(replica)
  await scenario.until('it left the sync set', () => scenario.syncSet.length === 1)
  cluster.startAgent(replica)
  await scenario.until('it counts again', () => scenario.syncSet.length === 2, 20_000)
  expect(replica.archived).toEqual([])
  await scenario.heal()
})

it('What a hand writes on a replica beside such writes is found all the same, archived, and gone', async () => {
  const scenario = await Scenario.begin({ instances: 3 })
  const { primary, cluster } = scenario
  const replica = cluster.machines.find((machine) => machine !== primary) ?? primary
  scenario.writeOften(primary, 3, names())
  await scenario.goOn(500)
  const errant = GtidSet.single(uuidAbroad, 9_000_000)
  scenario.say(`a hand writes ${errant.toString()} on ${replica.name}`)
  replica.mysqld?.commitNew(false, () => undefined, errant)
  await scenario.until('it is archived and gone', () => replica.folder?.executed.contains(errant) === false, 30_000)
  expect(replica.archived.join()).toContain(':9000000')
  await scenario.until('it counts again', () => scenario.syncSet.length === 2, 30_000)
  await scenario.heal()
})

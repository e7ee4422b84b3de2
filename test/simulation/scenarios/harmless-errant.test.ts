import { expect, it } from 'vitest'
import { Scenario } from '../scenario.ts'

it.each([2, 3])(
  'What a FLUSH writes at each replica of %i instances becomes an empty transaction at the primary, and nobody is seeded again',
  async (instances) => {
    const scenario = await Scenario.begin({ instances })
    const { cluster, primary } = scenario
    const replicas = cluster.machines.filter((machine) => machine !== primary)
    const uuids = replicas.map(({ folder }) => folder?.uuid)
    scenario.say('somebody flushes on all replicas')
    const flushed = replicas.map(({ mysqld }) => mysqld?.flush().gtid)
    await scenario.until('everybody has them', () =>
      cluster.machines.every(({ folder }) => flushed.every((gtid) => gtid && folder?.executed.contains(gtid))),
    )
    expect(replicas.map(({ folder }) => folder?.uuid)).toEqual(uuids)
    expect(replicas.flatMap(({ archived }) => archived)).toEqual([])
    expect(scenario.record).toMatchObject({ epoch: 1 })
    expect(scenario.syncSet).toHaveLength(replicas.length)
    await scenario.heal()
  },
)

it('A replica that was flushed and written to by hand is archived and seeded again as ever', async () => {
  const scenario = await Scenario.begin({ instances: 3 })
  const { cluster, primary } = scenario
  const replica = cluster.machines.find((machine) => machine !== primary) ?? primary
  replica.mysqld?.flush()
  const written = replica.mysqld?.commitNew(false, () => undefined)
  if (written === undefined) throw new Error('nothing is written')
  await scenario.until('it is gone', () => replica.folder?.executed.contains(written.gtid) === false)
  expect(replica.archived.join()).not.toBe('')
  expect(primary.folder?.executed.contains(written.gtid)).toBe(false)
  await scenario.heal()
})

it('Empty transactions that a primary was writing when it died are written by the next one', async () => {
  const scenario = await Scenario.begin({ instances: 3 })
  const { cluster, primary } = scenario
  const replicas = cluster.machines.filter((machine) => machine !== primary)
  const flushed = replicas[0]?.mysqld?.flush().gtid
  await scenario.until(
    'the primary writes an empty one',
    () => flushed !== undefined && primary.folder?.inBinlog.contains(flushed) === true,
  )
  scenario.kill(primary)
  await scenario.until('another one leads', () => scenario.primary !== primary)
  await scenario.heal()
  await scenario.until('everybody has it', () =>
    cluster.machines.every(({ folder }) => flushed && folder?.executed.contains(flushed)),
  )
})

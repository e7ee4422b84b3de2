import { describe, expect, it } from 'vitest'
import { Scenario } from '../scenario.ts'

/** No replica receives anything, and a client waits with a write: a stranger tells the server to stop. */
async function withStoppedPrimary(stop: { readonly takesMs?: number } = {}) {
  const scenario = await Scenario.begin({ instances: 3 })
  const { cluster, primary } = scenario
  for (const other of ['shop-1', 'shop-2']) cluster.network.cut(primary.name, other)
  const write = scenario.write()
  await scenario.goOn(50)
  expect(write.answer).toBe('waits')
  scenario.say('a stranger stops the server')
  primary.mysqld?.stopInOrder(stop.takesMs)
  expect(write.answer).toBe('unproven')
  return { scenario, primary, write }
}

const isUnsettled = (scenario: Scenario): boolean => scenario.cluster.observation('shop-0')?.stored.unsettled === true

describe('A write that was acknowledged by a stop which nobody ordered', () => {
  it('is kept: its server starts where it was, and everybody receives the write', async () => {
    const { scenario, write } = await withStoppedPrimary()
    await scenario.goOn(15_000)
    expect(scenario.record.epoch).toBe(1)
    await scenario.heal()
    expect(scenario.record.epoch).toBe(1)
    for (const { folder } of scenario.cluster.machines) expect(folder?.executed.contains(write.gtid)).toBe(true)
  })

  it('is kept where its server and the manager that heard of the stop are lost right after it', async () => {
    const { scenario, primary, write } = await withStoppedPrimary()
    await scenario.until('its agent says so', () => isUnsettled(scenario))
    await scenario.goOn(20)
    scenario.kill(primary)
    await scenario.replaceManager()
    await scenario.goOn(20_000)
    expect(scenario.record.epoch).toBe(1)
    await scenario.heal()
    for (const { folder } of scenario.cluster.machines) expect(folder?.executed.contains(write.gtid)).toBe(true)
  })

  it.each([100, 4_000])('is kept where its server ends at once and its error log is read %i ms later', async (ms) => {
    const { scenario, primary, write } = await withStoppedPrimary({ takesMs: 1 })
    const { time } = scenario.cluster
    primary.errorLogIsRead = () => new Promise((resolve) => time.after(ms, resolve))
    await scenario.goOn(20_000)
    expect(scenario.record.epoch).toBe(1)
    primary.errorLogIsRead = () => Promise.resolve()
    await scenario.heal()
    for (const { folder } of scenario.cluster.machines) expect(folder?.executed.contains(write.gtid)).toBe(true)
  })

  it('is kept where nothing tells how its server ended', async () => {
    const { scenario, primary, write } = await withStoppedPrimary({ takesMs: 1 })
    scenario.say('its error log is gone')
    primary.endingTold = () => 'unknown'
    await scenario.goOn(15_000)
    expect(scenario.record.epoch).toBe(1)
    primary.endingTold = (how) => how
    await scenario.heal()
    for (const { folder } of scenario.cluster.machines) expect(folder?.executed.contains(write.gtid)).toBe(true)
  })

  it('is kept or archived where only its whole binlog tells that the server was stopped, and not a glance', async () => {
    const { scenario, primary, write } = await withStoppedPrimary()
    primary.endingTold = (how, atAGlance) => (atAGlance ? 'crashed' : how === 'stopped' ? 'unknown' : how)
    await scenario.goOn(15_000)
    await scenario.heal()
    // A manager may have heard of the death before its agent had read the binlog: then the write is archived by name.
    const isArchived = primary.archived.join().includes(write.gtid.toString())
    for (const { folder } of scenario.cluster.machines)
      expect(isArchived || folder?.executed.contains(write.gtid) === true).toBe(true)
  })

  it('is kept where its server goes down slowly and the disk with its error log is slow', async () => {
    const { scenario, primary, write } = await withStoppedPrimary({ takesMs: 10_000 })
    const { time } = scenario.cluster
    primary.errorLogIsRead = () => new Promise((resolve) => time.after(2_500, resolve))
    await scenario.goOn(20_000)
    expect(scenario.record.epoch).toBe(1)
    primary.errorLogIsRead = () => Promise.resolve()
    await scenario.heal()
    for (const { folder } of scenario.cluster.machines) expect(folder?.executed.contains(write.gtid)).toBe(true)
  })
})

describe('A primary whose last writes may have been acknowledged, and whose server is then frozen', () => {
  it('is started again where it was, and nobody has to end the frozen server', async () => {
    const { scenario, primary, write } = await withStoppedPrimary()
    await scenario.until('its server is up again', () => primary.mysqld?.isUp === true)
    await scenario.goOn(500)
    scenario.say('its server is frozen, and the replicas reach it again')
    const frozen = primary.mysqld
    frozen?.freeze()
    expect(isUnsettled(scenario)).toBe(true)
    scenario.cluster.network.mend()
    await scenario.until('a server takes writes', () => scenario.primary.mysqld?.mayWrite === true, 30_000)
    expect(frozen?.state).toBe('dead')
    await scenario.heal()
    for (const { folder } of scenario.cluster.machines) expect(folder?.executed.contains(write.gtid)).toBe(true)
  })
})

import { describe, expect, it } from 'vitest'
import type { Machine } from '../machine.ts'
import { Scenario } from '../scenario.ts'

/** A hand sets `binlog_error_action=IGNORE_ERROR`, and before any agent has looked its disk takes no new file. */
async function withoutBinlog(ordinal: number): Promise<{ readonly scenario: Scenario; readonly machine: Machine }> {
  const scenario = await Scenario.begin({ instances: 3 })
  await scenario.writeAcknowledged()
  const machine = scenario.machine(ordinal)
  scenario.say(`${machine.name} goes on without its binary log`)
  if (machine.mysqld) machine.mysqld.isWithoutBinlog = true
  return { scenario, machine }
}

describe('A server that goes on without its binary log', () => {
  it('is ended at the next look where it is primary: a replica that holds all that was acknowledged leads, and the server is seeded again', async () => {
    const { scenario, machine } = await withoutBinlog(0)
    const { mysqld, folder } = machine
    const nameless = scenario.write(machine)
    expect([nameless.answer, nameless.gtid.isEmpty()]).toEqual(['unproven', true])
    await scenario.until('it is ended', () => mysqld?.state === 'dead', 1_000)
    await scenario.until('another one leads', () => scenario.primary !== machine, 10_000)
    await scenario.heal()
    expect(machine.folder).not.toBe(folder)
  })

  it('counts no more where it is a replica, and is seeded again', async () => {
    const { scenario, machine } = await withoutBinlog(1)
    const { folder } = machine
    await scenario.until('it counts no more', () => !scenario.syncSet.includes(machine.name), 10_000)
    await scenario.until('it is a copy', () => machine.folder !== folder)
    await scenario.heal()
    expect(scenario.record.epoch).toBe(1)
  })
})

import { describe, expect, it } from 'vitest'
import type { Machine } from '../machine.ts'
import { Scenario } from '../scenario.ts'

const begin = (): Promise<Scenario> => Scenario.begin({ instances: 3, spec: { mode: 'group' } })

function openByHand({ mysqld }: Machine): void {
  if (mysqld === null) return
  mysqld.readOnly = mysqld.superReadOnly = false
  mysqld.isOpenByHand = true
}

describe('Where a hand has more than one member of a group write,', () => {
  it('a secondary that was opened takes writes, and is closed again within seconds', async () => {
    const scenario = await begin()
    const secondary = scenario.machine(1)
    scenario.say('a hand opens a secondary')
    openByHand(secondary)
    const write = scenario.write(secondary)
    await scenario.until('the write of the secondary is agreed on', () => write.answer === 'ok', 5_000)
    await scenario.until('it is closed again', () => secondary.mysqld?.mayWrite === false, 8_000)
    await scenario.heal()
    expect(scenario.record.epoch).toBe(1)
  })

  it('the group in multi-primary mode has one primary again within seconds, the one of the record', async () => {
    const scenario = await begin()
    const { groups, machines } = scenario.cluster
    const { primary } = scenario
    const writing = (): number => machines.filter(({ mysqld }) => mysqld?.mayWrite).length
    scenario.say('a hand switches to multi-primary mode')
    groups?.pluginOf(primary.mysqld)?.letAllWrite()
    await scenario.until('all write', () => writing() === 3, 2_000)
    await scenario.until('one writes', () => writing() === 1, 8_000)
    await scenario.goOn(10_000)
    expect(groups?.ledgers[0]?.now.isMulti).toBe(false)
    expect(scenario.primary).toBe(primary)
    await scenario.heal()
  })
})

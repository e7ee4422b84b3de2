import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { groupScripts } from '#test/simulation/group/steps/all.ts'
import { playSimulatedGroup } from '#test/simulation/group/steps/simulated-stage.ts'
import { playScript } from '#test/simulation/mysqld/steps/stage.ts'
import type { BareInstance } from '#test/support/bare-instance.ts'
import { prepareMember, RealGroupStage } from '#test/support/real-group-stage.ts'

const firstPort = 24_310
let prepared: BareInstance

beforeAll(async () => {
  prepared = await prepareMember(firstPort)
})
afterAll(() => prepared.remove())

describe('Real members of a group and simulated ones do the same', () => {
  it.each(groupScripts)('$title', async (script) => {
    const stage = await RealGroupStage.create(prepared, firstPort, script.servers)
    try {
      expect(await playScript(script, stage)).toEqual(await playSimulatedGroup(script, 1))
    } finally {
      await stage.remove()
    }
  })
})

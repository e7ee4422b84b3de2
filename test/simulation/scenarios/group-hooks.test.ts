import { expect, it } from 'vitest'
import { Scenario } from '../scenario.ts'
import { hooksEverywhere, lacksAfter } from '../simulated-hooks.ts'

it('Hooks of a replication group run around the election that the group holds by itself, each once', async () => {
  const scenario = await Scenario.begin({ instances: 3, spec: { mode: 'group', hooks: hooksEverywhere } })
  const { cluster } = scenario
  const { epoch } = scenario.record
  scenario.kill(scenario.primary)
  await scenario.until('the record follows', () => scenario.record.epoch > epoch)
  expect(cluster.hooks.at('beforeFailover')).toHaveLength(2)
  expect(cluster.route?.epoch).toBe(epoch)
  await scenario.until('all hooks ran', () => lacksAfter(cluster.hooks, cluster.spec, epoch + 1) === undefined)
  expect(cluster.hooks.at('beforeFailover')[0]).toMatchObject({ successor: { instance: scenario.primary.name } })
  await scenario.heal()
  expect(cluster.hooks.at('afterFailover')).toHaveLength(2)
})

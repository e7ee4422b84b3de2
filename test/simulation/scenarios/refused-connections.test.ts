import { expect, it } from 'vitest'
import { Scenario } from '../scenario.ts'

it.each([0, 1])(
  'An agent whose server runs and refuses every connection asks the server hardly more often than before: shop-%i',
  async (ordinal) => {
    const scenario = await Scenario.begin({ instances: 3 })
    const { time } = scenario.cluster
    const { mysqld } = scenario.machine(ordinal)
    const inASecond = async (): Promise<number> => {
      const before = time.count
      await scenario.goOn(1_000)
      return time.count - before
    }
    const before = await inASecond()
    scenario.machine(ordinal).errorLogIsRead = () => new Promise((resolve) => time.after(3_000, resolve))
    mysqld?.stopInOrder(10_000)
    expect(await inASecond()).toBeLessThan(2 * before)
  },
)

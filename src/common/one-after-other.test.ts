import { expect, it } from 'vitest'
import { oneAfterOther } from './one-after-other.ts'

it('Tasks run one after the other, in their order, also after one that failed', async () => {
  const inOrder = oneAfterOther()
  const seen: string[] = []
  const task = (name: string, fails = false) =>
    inOrder(async () => {
      seen.push(`${name} begins`)
      await new Promise((resolve) => setImmediate(resolve))
      seen.push(`${name} ends`)
      if (fails) throw new Error(`${name} failed`)
      return name
    })
  const [first, second] = await Promise.allSettled([task('one', true), task('two')])
  expect([first.status, second]).toEqual(['rejected', { status: 'fulfilled', value: 'two' }])
  expect(seen).toEqual(['one begins', 'one ends', 'two begins', 'two ends'])
})

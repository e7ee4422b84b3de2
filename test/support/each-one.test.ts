import { expect, test } from 'vitest'
import { eachOne } from './each-one.ts'

test('a failure is told once the others have ended', async () => {
  const slow = Promise.withResolvers<undefined>()
  let isTold = false
  const all = eachOne([Promise.reject(new Error('one failed')), slow.promise], (one) => one)
  const told = all.catch((error: unknown) => {
    isTold = true
    return String(error)
  })
  await new Promise((resolve) => setImmediate(resolve))
  expect(isTold).toBe(false)
  slow.resolve(undefined)
  expect(await told).toBe('Error: one failed')
})

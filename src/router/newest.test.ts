import { expect, it } from 'vitest'
import { newest } from './newest.ts'

it('What is said last is written last, however long the one before takes', async () => {
  const written: string[] = []
  const held: (() => void)[] = []
  const write = newest<string>(async (sentence) => {
    await new Promise<void>((resolve) => held.push(resolve))
    written.push(sentence)
  })
  for (const sentence of ['sessions wait', 'writes go to shop-1', 'writes go to shop-2']) write(sentence)
  expect(held, 'one at a time').toHaveLength(1)
  held.shift()?.()
  await expect.poll(() => held.length).toBe(1)
  held.shift()?.()
  await expect.poll(() => written).toEqual(['sessions wait', 'writes go to shop-2'])
  write('sessions wait again')
  held.shift()?.()
  await expect.poll(() => written.at(-1)).toBe('sessions wait again')
})

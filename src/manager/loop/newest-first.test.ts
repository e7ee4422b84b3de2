import { expect, it } from 'vitest'
import { NewestFirst } from './newest-first.ts'

it('What a look saw that began earlier and ended later counts for nothing', () => {
  const looks = new NewestFirst()
  const [first, second, third] = [looks.begin(), looks.begin(), looks.begin()]
  expect(second()).toBe(true)
  expect(first()).toBe(false)
  expect(third()).toBe(true)
  expect(looks.begin()()).toBe(true)
})

import { expect, it } from 'vitest'
import { gistOf } from './gist.ts'

it('The gist of a sentence has no figures but those in the names of instances', () => {
  expect(gistOf('shop-1 is 3.2 s behind shop-12 at revision 17')).toBe('shop-1 is # behind shop-12 at revision #')
  expect(gistOf('it stays so for 2 h 5 min')).toBe(gistOf('it stays so for 900 ms'))
})

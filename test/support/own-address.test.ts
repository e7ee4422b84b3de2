import { expect, it } from 'vitest'
import { ownAddress } from './own-address.ts'

it('no two tests have one address at a time', async () => {
  const [one, other] = [await ownAddress(), await ownAddress()]
  expect(one.host).not.toBe(other.host)
  one.release()
  other.release()
})

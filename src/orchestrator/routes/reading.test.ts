import { expect, test } from 'vitest'
import type { Instance } from '../documents/instance.ts'
import { orchestratorOver, watchedShop } from '../testing.ts'

test.each([
  ['shop-1', ['shop-1']],
  ['SHOP-2:33', ['shop-2']],
  ['9.7', ['shop-0', 'shop-1', 'shop-2']],
  // The server_id of one, and a part of the name of another one.
  ['2', ['shop-1', 'shop-2']],
  ['3306', ['shop-0', 'shop-1', 'shop-2']],
])('A search for "%s" finds what orchestrator finds', async (text, names) => {
  const known = watchedShop()
  const { get } = await orchestratorOver([known])
  const found = (await get(`search?s=${text}`)).body as unknown as readonly Instance[]
  expect(found.map(({ InstanceAlias }) => InstanceAlias)).toEqual(names)
})

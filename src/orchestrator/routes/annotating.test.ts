import { expect, test } from 'vitest'
import { knownShop, orchestratorOver } from '../testing.ts'

test('A pool has those of its list that are known, and who is not known is told of', async () => {
  const { get, said } = await orchestratorOver([knownShop()])
  expect((await get('submit-pool-instances/web?instances=shop-1:3306,db9:3306,shop-2%0A')).body).toEqual({
    Code: 'OK',
    Message: 'Applied web pool instances; not known are db9:3306',
    Details: 'web',
  })
  expect(said.get('shop')).toEqual({ pools: { web: ['shop-1', 'shop-2'] } })
  expect((await get('submit-pool-instances/web?instances=shop-1')).body.Message).toBe('Applied web pool instances')
})

test('A list of which nobody is known empties no pool', async () => {
  const { get, said } = await orchestratorOver([knownShop()])
  await get('submit-pool-instances/web?instances=shop-1')
  expect((await get('submit-pool-instances/web?instances=db8,db9:3307')).body).toMatchObject({
    Code: 'ERROR',
    Message: 'Cannot read instance: db8:3306',
  })
  expect(said.get('shop')).toEqual({ pools: { web: ['shop-1'] } })
})

test('A server named by two clusters refuses the list', async () => {
  const { get } = await orchestratorOver([knownShop(), { ...knownShop(), name: 'prod.shop' }])
  expect((await get('submit-pool-instances/web?instances=shop-1')).body).toMatchObject({ Code: 'ERROR' })
})

import { expect, it, vi } from 'vitest'
import type { Observation } from '#topology/snapshot/observation.ts'
import type { FeedListener } from '#manager/loop/agent-feed.ts'
import { watchTrust } from './watch-trust.ts'

const address = '10.0.0.2:9400'
const refused = `${address} answered 401: the caller’s certificate is refused: it is of an authority that is not trusted here (ca.crt)`

function following() {
  let tell: FeedListener | undefined
  const changed = vi.fn()
  const listener = { heard: vi.fn(), alive: vi.fn(), lost: vi.fn() }
  const { feed, distrust } = watchTrust(
    { follow: (_address, _whom, given) => ((tell = given), () => undefined) },
    changed,
  )
  const unfollow = feed.follow(address, { cluster: 'shop', instance: 'shop-1' }, listener)
  return { tell: tell ?? expect.fail('nobody listens'), changed, listener, distrust, unfollow }
}

it('an agent that refuses a manager’s certificate is known until it is heard, and who listens hears the same as before', () => {
  const { tell, changed, listener, distrust } = following()
  tell.lost(refused, true)
  tell.lost(refused, true)
  expect([...distrust]).toEqual([[address, refused]])
  expect(changed).toHaveBeenCalledTimes(1)
  expect(listener.lost).toHaveBeenLastCalledWith(refused)
  tell.heard({ instance: 'shop-1' } as Observation)
  expect([distrust.size, changed.mock.calls.length, listener.heard.mock.calls.length]).toEqual([0, 2, 1])
})

it('an agent that is only silent, or is followed no more, is not taken for one that refuses', () => {
  const { tell, distrust, unfollow } = following()
  tell.lost(`${address} sent nothing for 1500 ms`)
  expect(distrust.size).toBe(0)
  tell.lost(refused, true)
  tell.lost(`${address}: connect ECONNREFUSED`, false)
  expect(distrust.size).toBe(0)
  tell.lost(refused, true)
  unfollow()
  expect(distrust.size).toBe(0)
})

import { expect, it } from 'vitest'
import type { Platform, PrimaryRoute } from '#common/ports/platform.ts'
import { RouteKeeper } from './route-keeper.ts'

const [old, next] = [0, 1].map((ordinal) => ({ instance: `shop-${ordinal}`, epoch: ordinal + 1 }) as PrimaryRoute)

function keeping(platform: Partial<Platform>) {
  const told: string[] = []
  const keeper = new RouteKeeper(platform as Platform, {
    moved: ({ instance }) => void told.push(`moved to ${instance}`),
    looked: () => void told.push('looked'),
    failed: (error) => void told.push(String(error)),
  })
  return { keeper, told }
}

it('A look that began before a route was published does not bring the old route back', async () => {
  let answer: (route: PrimaryRoute) => void = () => undefined
  const look = new Promise<PrimaryRoute>((resolve) => (answer = resolve))
  const { keeper, told } = keeping({ publishedPrimary: () => look, publishPrimary: async () => true })
  const reading = keeper.read()
  await keeper.publish(next!)
  answer(old!)
  await reading
  expect(keeper.published).toBe(next)
  expect(told).toEqual(['moved to shop-1', 'looked'])
})

it('A route that was refused is looked up, and one publishing at a time goes on', async () => {
  let published = 0
  const { keeper, told } = keeping({
    publishedPrimary: async () => next,
    publishPrimary: async () => ++published === 0,
  })
  await Promise.all([keeper.publish(old!), keeper.publish(old!)])
  expect([published, keeper.published, told]).toEqual([1, next, ['looked']])
})

it('A failure is told, and the next publishing is tried', async () => {
  const { keeper, told } = keeping({ publishPrimary: () => Promise.reject(new Error('no platform')) })
  await keeper.publish(next!)
  await keeper.publish(next!)
  expect(told).toEqual(['Error: no platform', 'Error: no platform'])
})

import { expect, it } from 'vitest'
import { oneAtATime } from './one-at-a-time.ts'

it('What is under way is not begun beside it, and is begun again after it ended or failed', async () => {
  const begun: { readonly what: string; readonly promised: PromiseWithResolvers<void> }[] = []
  const failed: string[] = []
  const run = oneAtATime(
    (what: string) => {
      const promised = Promise.withResolvers<void>()
      begun.push({ what, promised })
      return promised.promise
    },
    (error) => failed.push(String(error)),
  )
  const first = run('a')
  await run('b')
  begun[0]?.promised.resolve()
  await first
  const second = run('c')
  begun[1]?.promised.reject('no')
  await second
  void run('d')
  expect(begun.map(({ what }) => what)).toEqual(['a', 'c', 'd'])
  expect(failed).toEqual(['no'])
})

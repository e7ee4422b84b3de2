import { expect, it } from 'vitest'
import { Notices } from './notices.ts'

it('The same sentence twice in a row is one notice within a minute, and said again after it', () => {
  let nowMs = 0
  const log: string[] = []
  const notices = new Notices({ monotonicMs: () => nowMs, wallMs: () => nowMs }, (sentence) => log.push(sentence))
  for (nowMs of [0, 500, 59_999, 60_000, 60_500]) notices.add('GatesSet', 'unlocked again')
  notices.add('Opened', 'open again')
  notices.add('GatesSet', 'unlocked again')
  expect(log).toEqual(['unlocked again', 'unlocked again', 'open again', 'unlocked again'])
  expect(notices.list.map(({ id, code }) => `${id} ${code}`)).toEqual(['1 GatesSet', '2 GatesSet', '3 Opened', '4 GatesSet'])
})

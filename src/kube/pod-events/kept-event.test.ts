import { expect, it } from 'vitest'
import { keptEvent, mostLetters, whyUnread } from './kept-event.ts'
import { marks } from './marks.ts'
import { roleSaid, said } from './testing-component.ts'

it('Of an Event that is what is read of it, and no more', () => {
  const event = roleSaid(0, 'primary')
  const { metadata } = event
  const annotations = { [marks.handled]: '1' }
  const large = 'x'.repeat(1_000_000)
  const fat = {
    ...event,
    related: { name: large },
    note: large,
    metadata: { ...metadata, annotations: { ...annotations, large } },
  }
  expect(keptEvent(fat)).toEqual({ ...event, metadata: { ...metadata, annotations } })
  expect(whyUnread(keptEvent(fat))).toBeUndefined()
})

it.each([
  ['message', { message: 'x'.repeat(mostLetters) }],
  ['reason', { reason: 'x'.repeat(mostLetters) }],
  ['name of a pod', { involvedObject: { kind: 'Pod', name: 'x'.repeat(mostLetters), uid: 'u' } }],
  ['mark', { metadata: { name: 'e', namespace: 'shops', annotations: { [marks.handled]: 'x'.repeat(mostLetters) } } }],
])('Of an Event with a %s of 32 KiB that is its name alone, and a sentence', (_, part) => {
  const kept = keptEvent({ ...said(0, 'roleProbe', {}), ...part })
  expect(JSON.stringify(kept).length).toBeLessThan(400)
  expect(String(whyUnread(kept))).toMatch(
    /^Event shops\/\S+ is larger than 32 KiB \(about 3\d KiB\) and is not read: no agent says so much\. Find out/,
  )
})

import { expect, it } from 'vitest'
import { aSnapshot } from '#topology/testing.ts'
import { emptyNotes, type ClusterNotes } from '#failover/protocol/notes.ts'
import { aRecord, shop1 } from '#failover/testing.ts'
import { IncarnationBook } from './incarnation-book.ts'

const notes: ClusterNotes = { ...emptyNotes, incarnations: { [shop1]: ['b', 'a'] } }
const snapshot = aSnapshot({ 'shop-1': { stored: { incarnation: 'c', earlierIncarnations: ['a'] } } })

it('While the notes cannot be used, nobody is suspected and nothing is noted: what the record allows goes on', async () => {
  let isBlind = true
  const writes: unknown[] = []
  const book = new IncarnationBook(
    async (change) => void writes.push(change),
    () => isBlind,
  )
  expect(book.believed(snapshot, notes)).toBe(snapshot)
  expect(
    snapshot.instances.flatMap(({ observation }) => (observation ? [book.believes(observation, notes)] : [])),
  ).toEqual([true, true, true])
  await book.note({ snapshot, record: undefined, isQuiet: true }, notes)
  expect([writes.length, book.nextNotingMs(snapshot, notes, undefined)]).toEqual([0, null])
  isBlind = false
  expect(book.believed(snapshot, notes).instances[1]).toMatchObject({ past: shop1 })
  await book.note({ snapshot, record: undefined, isQuiet: true }, notes)
  expect(writes).toHaveLength(1)
})

it('An unsettled tail is noted also while something is under way: a successor must know', async () => {
  const record = aRecord()
  const heard = (unsettled: boolean) => aSnapshot({ 'shop-0': { stored: { unsettled } } })
  let noted = emptyNotes
  const book = new IncarnationBook(
    async (change) => void (noted = change(noted)),
    () => false,
  )
  await book.note({ snapshot: heard(false), record, isQuiet: true }, noted)
  await book.note({ snapshot: heard(true), record, isQuiet: false }, noted)
  expect(noted.unsettled).toMatchObject([{ member: record.primary }])
})

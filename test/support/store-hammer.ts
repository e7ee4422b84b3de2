import { writeSync } from 'node:fs'
import { fileStore } from '#store/file.ts'

/**
 * A manager that does nothing but change one record of a file store as fast as it can, until it is killed. Each change
 * raises the epoch by one and is signed. Prints, a line each: `saw <revision> <epoch> <signature>` and `won <revision>
 * <signature>`.
 *
 *     node store-hammer.ts <folder> <name>
 */
const [folder = '', name = ''] = process.argv.slice(2)
const store = fileStore(folder, { deadlineMs: 60_000 })
const say = (line: string) => writeSync(1, `${line}\n`)

for (let number = 1; ; number++) {
  const record = await store.readRecord('shop')
  const by = `${name}.${number}`
  if (record !== undefined) say(`saw ${record.revision} ${record.epoch} ${record.intent?.by ?? ''}`)
  const revision = (record?.revision ?? 0) + 1
  const won = await store.compareAndSwap('shop', revision - 1, {
    version: 1,
    cluster: 'shop',
    epoch: (record?.epoch ?? 0) + 1,
    revision,
    primary: 'shop-0@a0',
    syncSet: [],
    leaving: [],
    acks: 0,
    acksWanted: 0,
    intent: { kind: 'fetch', by, candidate: 'shop-1@b1' },
  })
  if (won) say(`won ${revision} ${by}`)
  await store.updateNotes('shop', (notes) => ({
    ...notes,
    incarnations: { ...notes.incarnations, 'shop-0@a0': [`${Number(notes.incarnations['shop-0@a0']?.[0] ?? 0) + 1}`] },
  }))
  say('noted')
}

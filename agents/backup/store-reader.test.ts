import { expect, it } from 'vitest'
import { testParts, aServerState, ScriptedServer } from '../testing.ts'
import type { StoresPort } from '../ports/backup-port.ts'
import { backedUp, lineage, name, said } from './testing-backups.ts'
import { StoreReader } from './store-reader.ts'

async function aReader(open: StoresPort['open']): Promise<StoreReader> {
  return new StoreReader(await testParts(new ScriptedServer(aServerState())), { lineage, open })
}

it('An agent tells what lies in the store of its cluster, and from when to when can be restored', async () => {
  const { store } = await backedUp()
  const reader = await aReader(async () => ({ store, key: null }))
  const { cluster, backups, unusable } = await reader.backups(said)
  expect([cluster, unusable, backups.map((one) => [one.name, one.parts, one.verified])]).toEqual([
    'shop',
    [],
    [[name, 1, null]],
  ])
  expect(await reader.window(said)).toEqual({ cluster: 'shop', spans: [], alone: [name], holes: [], leftOut: [] })
  expect(await reader.find({ ...said, table: 'app.orders' })).toMatchObject({ pieces: 0, found: [], next: null })
})

it('An agent looks into the folder of its cluster, where that has another name', async () => {
  const { store } = await backedUp()
  const reader = await aReader(async () => ({ store, key: null }))
  const { cluster, backups } = await reader.backups({ ...said, store: { ...said.store, folder: 'shops.shop' } })
  expect([cluster, backups]).toEqual(['shops.shop', []])
})

it('An agent reads for one at a time, and refuses a search that nobody can mean before it opens a store', async () => {
  let open = (): void => undefined
  const waits = new Promise<void>((resolve) => (open = resolve))
  const { store } = await backedUp()
  const opened: string[] = []
  const reader = await aReader(async ({ address }) => {
    opened.push(address)
    await waits
    return { store, key: null }
  })
  const first = reader.backups(said)
  await expect(reader.window(said)).rejects.toMatchObject({ code: 'REGENT_BUSY' })
  await expect(reader.find({ ...said, table: 'orders' })).rejects.toThrow('write schema.table')
  await expect(reader.find({ ...said, table: 'a.b', kind: 'lose' })).rejects.toThrow('one of drop, truncate')
  open()
  await first
  expect(opened).toHaveLength(1)
  await reader.window(said)
})

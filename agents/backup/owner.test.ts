import { expect, it } from 'vitest'
import { ownerText } from '#backup/objects/owner.ts'
import { MemoryStore } from '#object-store/testing-store.ts'
import { learn } from '../instance/learn.ts'
import { aServerState, replicaOfEpoch3, ScriptedServer, testParts } from '../testing.ts'
import { claimFolder } from './owner.ts'
import { StoreAcquaintance } from './store-acquaintance.ts'

const lineage = '00112233445566778899aabbccddeeff'
const store = { address: '/mnt/backups' }
const folder = { where: store, cluster: 'shop', lineage }

it('A store that is fresh is claimed, and one that was emptied by its owner’s own retention too', async () => {
  const [parts, there] = [await testParts(new ScriptedServer(aServerState())), new MemoryStore()]
  await claimFolder(parts, there, folder)
  there.objects.delete('shop/owner.json')
  there.objects.set('shop/base/20261126T031209Z/begun.json', Buffer.from('{}'))
  await claimFolder(parts, there, folder)
  expect(there.objects.has('shop/owner.json')).toBe(true)
})

it('Nothing is begun anew where a store that was used is empty, as where its disk is not mounted', async () => {
  const [parts, there] = [await testParts(new ScriptedServer(aServerState())), new MemoryStore()]
  await claimFolder(parts, there, folder)
  const below = new MemoryStore()
  await expect(claimFolder(parts, below, folder)).rejects.toThrow(
    'is empty, where this cluster had folder shop/: mount its disk again',
  )
  expect(below.objects.size).toBe(0)
  await claimFolder(parts, there, folder)
  await claimFolder(parts, below, { ...folder, cluster: 'shop-2' })
})

it('A replica remembers what is used, and forgets nothing when it leads', async () => {
  const [parts, there] = [await testParts(new ScriptedServer(aServerState())), new MemoryStore()]
  await parts.file.update({ promise: 3, assignment: replicaOfEpoch3 })
  const retention = { last: 3, days: 7, weeks: 4 }
  learn(parts, { fact: 'backupsTold', task: { store, retention, archive: { everySeconds: 5 } } })
  const acquaintance = new StoreAcquaintance(parts, { lineage, open: async () => ({ store: there, key: null }) })
  await acquaintance.look()
  expect(acquaintance.while()).toBe(true)
  const owner = ownerText({ formatVersion: 1, cluster: 'shop', lineage, claimedAtMs: 1 })
  there.objects.set('shop/owner.json', Buffer.from(owner))
  await acquaintance.look()
  expect(acquaintance.while()).toBe(false)
  await expect(claimFolder(parts, new MemoryStore(), folder)).rejects.toThrow('is empty')
})

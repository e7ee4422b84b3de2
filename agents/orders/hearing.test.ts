import { expect, it } from 'vitest'
import type { BackupTask } from '#failover/protocol/backup-task.ts'
import { memberId, type MemberId } from '#topology/snapshot/member.ts'
import { MemoryStore } from '#object-store/testing-store.ts'
import { claimFolder } from '../backup/owner.ts'
import { Lease } from '../guard/lease.ts'
import { learn } from '../instance/learn.ts'
import { backupPlaceOf } from '../instance/used-stores.ts'
import { ObservationBuilder } from '../observe/observation.ts'
import { aServerState, ScriptedServer, testParts } from '../testing.ts'
import { hearing, type Ears } from './hearing.ts'

const task = (folder?: string): BackupTask => ({
  store: { address: '/backups', ...(folder === undefined ? {} : { folder }) },
  retention: { last: 3, days: 7, weeks: 4 },
  archive: { everySeconds: 5 },
  heartbeat: { everySeconds: 1 },
})

async function anAgent() {
  let changed = 0
  const parts = await testParts(new ScriptedServer(aServerState()))
  Object.assign(parts, { changed: () => (changed += 1) })
  const { cluster, instance } = parts.config
  const addressed = { version: 1, cluster, member: memberId(instance, parts.file.current.volume) } as const
  return {
    parts,
    changed: () => changed,
    hear: (said: {
      readonly task?: BackupTask
      readonly used?: boolean
      readonly cluster?: string
      readonly member?: MemberId
    }) => hearing.backups({ parts } as Ears, { ...addressed, ...said }),
    knowsStore: () => new ObservationBuilder(parts, new Lease(parts, () => undefined), '0', true).build().knowsStore,
  }
}

it('An agent is told what to do about backups, shows that it was, and stops where it is told of nothing', async () => {
  const agent = await anAgent()
  expect(await agent.hear({ task: task() })).toEqual({})
  expect([agent.parts.told.backups, agent.changed()]).toEqual([task(), 1])
  await agent.hear({})
  expect([agent.parts.told.backups, agent.changed()]).toEqual([null, 2])
})

it('What is said once more changes nothing that was seen in the store; another folder there is another task', async () => {
  const { parts, hear } = await anAgent()
  await hear({ task: task() })
  const seen = { whole: 1, leftovers: 0, begun: null, newest: null, verified: null, answers: true, sentence: '' }
  learn(parts, { fact: 'backupsSeen', seen: { ...seen, lookedAtMs: 7 } })
  await hear({ task: task() })
  expect(parts.jobs.backups).toMatchObject({ whole: 1 })
  await hear({ task: task('prod') })
  expect([parts.told.backups?.store.folder, parts.jobs.backups]).toEqual(['prod', null])
})

it('An agent on a new volume hears that the store is used, and begins nothing where that is empty', async () => {
  const { parts, hear, knowsStore } = await anAgent()
  expect(knowsStore()).toBeUndefined()
  await hear({ task: task() })
  expect(knowsStore()).toBe(false)
  await hear({ task: task(), used: true })
  expect(knowsStore()).toBe(true)
  const [lineage, below] = ['00112233445566778899aabbccddeeff', new MemoryStore()]
  const folder = { ...backupPlaceOf(parts.config, task()), lineage }
  await expect(claimFolder(parts, below, folder)).rejects.toThrow('is empty, where this cluster had folder')
  expect(below.objects.size).toBe(0)
  await hear({ task: task('prod') })
  expect(knowsStore()).toBe(false)
})

it('A heartbeat that is switched off is another task too', async () => {
  const { parts, hear } = await anAgent()
  await hear({ task: task() })
  await hear({ task: { ...task(), heartbeat: { everySeconds: 0 } } })
  expect(parts.told.backups?.heartbeat).toEqual({ everySeconds: 0 })
})

it('What is meant for another cluster or another member is not heard', async () => {
  const { parts, hear } = await anAgent()
  expect(() => hear({ task: task(), cluster: 'other' })).toThrow('other')
  expect(() => hear({ task: task(), member: 'shop-0@another' })).toThrow('shop-0@another')
  expect(parts.told.backups).toBe(null)
})

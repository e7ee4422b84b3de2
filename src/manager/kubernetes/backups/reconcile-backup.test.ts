import { expect, it } from 'vitest'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import type { OperationResult } from '#api-contract/operation-result.ts'
import type { ClusterView } from '#api-contract/views.ts'
import type { Happening } from '#controller-runtime/events/event-correlator.ts'
import { testingInformer } from '#controller-runtime/testing-informer.ts'
import { ScriptedClient } from '#controller-runtime/testing-kube-client.ts'
import { mysqlBackups, type MySQLBackup } from '#kube/backup/mysql-backup.ts'
import { aCluster } from '#kube/testing.ts'
import type { BackupSeen } from '#topology/snapshot/copies.ts'
import { reconcileBackup, type BackedUpCluster } from './reconcile-backup.ts'
import { RunBook } from './run-book.ts'
import { tellOfRuns } from './tell-of-runs.ts'

const run = '20261126T031209Z'
const startMs = Date.UTC(2026, 10, 26, 3, 12, 9)
const signal = new AbortController().signal
const object = (name: string, said: Partial<MySQLBackup> = {}): MySQLBackup => ({
  ...{ apiVersion: 'regent.dev/v1alpha1', kind: 'MySQLBackup', spec: { cluster: 'shop' } },
  metadata: { namespace: 'shops', name, uid: name, creationTimestamp: '2026-11-26T03:12:00Z' },
  ...said,
})

/** What agents do, and what the cluster shows of that. */
function someCluster() {
  const asked: string[] = []
  const state = {
    refusal: '',
    instances: [] as { name: string; reachable: boolean; backup?: BackupSeen }[],
    /** Null: nobody can look into the store. */
    stored: null as readonly string[] | null,
    lookedUp: 0,
  }
  const cluster = {
    view: () => ({ instances: state.instances }) as unknown as ClusterView,
    loop: { leads: true, input: () => ({ snapshot: { instances: [] } }) },
    askAboutStore: async () => {
      state.lookedUp += 1
      if (state.stored === null) throw new RegentError('REGENT_REFUSED', say`nobody can look`)
      const times = { startedAtMs: startMs, endedAtMs: startMs + 60_000, storedAtMs: startMs + 90_000 }
      const backups = state.stored.map((name) => ({ name, ...times, rawBytes: 9, storedBytes: 3, gtids: 'uuid:1-9' }))
      return { backups }
    },
    operations: {
      perform: async (
        _name: string,
        { instance = 'shop-2', name = run, dryRun }: { instance?: string; name?: string; dryRun: boolean },
      ) => {
        if (state.refusal !== '') throw new RegentError('REGENT_REFUSED', say`${state.refusal}`)
        if (!dryRun) asked.push(`${instance} ${name}`)
        return { done: !dryRun, dryRun, sentence: '', instance, backup: name } as OperationResult
      },
    },
  } as unknown as BackedUpCluster
  return { cluster, asked, state }
}

async function aManager(shared: ReturnType<typeof someCluster>, client = new ScriptedClient()) {
  const backups = testingInformer<MySQLBackup>('mysqlbackups')
  const told: Happening[] = []
  const time = { wallMs: startMs, monotonicMs: 0 }
  const book = new RunBook()
  const reconcile = reconcileBackup({
    client,
    backups,
    book,
    clock: { wallMs: () => time.wallMs, monotonicMs: () => time.monotonicMs },
    clusterOf: () => shared.cluster,
    leads: () => true,
    recorder: { record: (happening) => void told.push(happening) },
  })
  const stored = async (name: string) => (await client.get(mysqlBackups, { namespace: 'shops', name })) ?? expect.fail()
  return {
    ...{ client, backups, told, time, book, stored },
    /** With what is in memory. */
    lookLate: () => reconcile({ namespace: 'shops', name: 'b' }, signal),
    look: async (name = 'b') => {
      for (const one of (await client.list(mysqlBackups)).items) backups.put(one)
      await reconcile({ namespace: 'shops', name }, signal)
      return (await stored(name)).status ?? {}
    },
    later: (ms: number) => void ((time.wallMs += ms), (time.monotonicMs += ms)),
  }
}

const sends = (stage: BackupSeen['stage'], sentence = ''): BackupSeen => ({
  ...{ name: run, stage, rawBytes: 3_145_728, storedBytes: 1_048_576, sentence },
})

it('A MySQLBackup begins one backup, and tells how that goes to its end', async () => {
  const shared = someCluster()
  const manager = await aManager(shared)
  await manager.client.create(mysqlBackups, object('b'))
  expect(await manager.look()).toMatchObject({ phase: 'Running', backup: run, instance: 'shop-2' })
  expect(shared.asked).toEqual([`shop-2 ${run}`])
  shared.state.instances = [{ name: 'shop-2', reachable: true, backup: sends('sends') }]
  expect(await manager.look()).toMatchObject({ phase: 'Running', size: '3.0 MiB' })
  shared.state.instances = [{ name: 'shop-2', reachable: true, backup: sends('done') }]
  expect(await manager.look()).toMatchObject({ phase: 'Succeeded', stored: '1.0 MiB' })
  expect(manager.told.map(({ type, reason }) => `${type} ${reason}`)).toEqual(['Normal BackupMade'])
  shared.state.instances = []
  manager.later(86_400_000)
  expect(await manager.look()).toMatchObject({ phase: 'Succeeded' })
  expect(shared.asked).toHaveLength(1)
})

it('An object that was made anew under its name is not told of the run of the one before: it has a backup to come', async () => {
  const shared = someCluster()
  const manager = await aManager(shared)
  await manager.client.create(mysqlBackups, object('b'))
  await manager.look()
  shared.state.instances = [{ name: 'shop-2', reachable: true, backup: sends('done') }]
  await manager.look()
  for (const seen of [{ backup: run, instance: 'shop-2', phase: 'Running' } as const, undefined]) {
    await manager.client.delete(mysqlBackups, { namespace: 'shops', name: 'b' })
    await manager.client.create(mysqlBackups, object('b'))
    manager.backups.put(object('b', seen && { status: seen }))
    await manager.lookLate().catch(() => undefined)
    expect((await manager.stored('b')).status).toBeUndefined()
  }
  expect(manager.told).toHaveLength(1)
})

it('How a run ended is told once, in an Event about the object, with the words of its agent', async () => {
  const shared = someCluster()
  const manager = await aManager(shared)
  await manager.client.create(mysqlBackups, object('b'))
  await manager.look()
  shared.state.instances = [{ name: 'shop-2', reachable: true, backup: sends('copies') }]
  await manager.look()
  expect(manager.told).toEqual([])
  shared.state.instances = [{ name: 'shop-2', reachable: true, backup: sends('failed', 'the store is full') }]
  for (let look = 0; look < 3; look += 1) await manager.look()
  expect(manager.told.map(({ type, reason, action, note }) => [type, reason, action, note])).toEqual([
    ['Warning', 'BackupFailed', 'BackUp', `backup ${run} failed: the store is full`],
  ])
  expect(manager.told[0]?.regarding).toMatchObject({ kind: 'MySQLBackup', metadata: { name: 'b', namespace: 'shops' } })
})

it('A backup is looked after often as long as the rehearsal of a first backup may be under way, and now and then later', async () => {
  const shared = someCluster()
  const manager = await aManager(shared)
  await manager.client.create(mysqlBackups, object('b'))
  await manager.look()
  shared.state.instances = [{ name: 'shop-2', reachable: true, backup: sends('done') }]
  await manager.look()
  manager.backups.put(await manager.stored('b'))
  expect(await manager.lookLate()).toEqual({ requeueAfterMs: 30_000 })
  manager.later(3_600_000)
  expect(await manager.lookLate()).toEqual({ requeueAfterMs: 300_000 })
})

it('A run whose instance is silent for good keeps no other object waiting, and is not Running for ever', async () => {
  const shared = someCluster()
  const manager = await aManager(shared)
  await manager.client.create(mysqlBackups, object('b'))
  await manager.look()
  shared.state.instances = [{ name: 'shop-2', reachable: true, backup: sends('sends') }]
  await manager.look()
  shared.state.instances = [{ name: 'shop-2', reachable: false, backup: sends('sends') }]
  manager.later(60_000)
  expect(await manager.look()).toMatchObject({ phase: 'Running' })
  manager.later(60_000)
  expect(await manager.look()).toMatchObject({ phase: 'Unknown' })
  await manager.client.create(mysqlBackups, object('c'))
  expect(await manager.look('c')).toMatchObject({ phase: 'Running' })
  manager.later(3_600_000)
  expect(await manager.look()).toMatchObject({ phase: 'Failed' })
})

it('A run of which nobody speaks is looked up in the store now and then, and right before it would be given up', async () => {
  const shared = someCluster()
  const manager = await aManager(shared)
  await manager.client.create(mysqlBackups, object('b'))
  await manager.look()
  // The agent was started again, and has made a newer backup.
  const newer = { ...sends('done'), name: '20261126T040000Z' }
  shared.state.instances = [{ name: 'shop-2', reachable: true, backup: newer }]
  await manager.look()
  expect(shared.state.lookedUp).toBe(0)
  manager.later(120_000)
  for (let look = 0; look < 5; look += 1) expect(await manager.look()).toMatchObject({ phase: 'Unknown' })
  expect(shared.state.lookedUp).toBe(1)
  shared.state.stored = [newer.name]
  manager.later(600_000)
  expect(await manager.look()).toMatchObject({ phase: 'Unknown' })
  shared.state.stored = [run, newer.name]
  manager.later(3_600_000 - 720_000)
  expect(await manager.look()).toMatchObject({ phase: 'Succeeded', bytes: 9, seconds: 90, gtids: 'uuid:1-9' })
  expect(shared.state.lookedUp).toBe(3)
  expect(manager.told.map(({ reason }) => reason)).toEqual(['BackupMade'])
})

it('An object shows which transactions its backup holds', async () => {
  const shared = someCluster()
  const manager = await aManager(shared)
  await manager.client.create(mysqlBackups, object('b'))
  await manager.look()
  const gtids = '00112233-4455-6677-8899-aabbccddeeff:1-99'
  shared.state.instances = [{ name: 'shop-2', reachable: true, backup: { ...sends('done'), gtids } }]
  expect(await manager.look()).toMatchObject({ phase: 'Succeeded', gtids })
})

it('A manager that died after it chose, and before it asked, is followed by one that asks the same of the same agent', async () => {
  const shared = someCluster()
  const first = await aManager(shared)
  await first.client.create(mysqlBackups, object('b'))
  shared.cluster.operations.perform = ((perform) => async (name: never, asked: { dryRun: boolean }) => {
    if (!asked.dryRun) throw new Error('the manager died here')
    return perform.call(shared.cluster.operations, name, asked as never)
  })(shared.cluster.operations.perform.bind(shared.cluster.operations))
  await first.look()
  const next = someCluster()
  next.state.instances = [{ name: 'shop-2', reachable: true }]
  const second = await aManager(next, first.client)
  second.later(1_000)
  expect(await second.look()).toMatchObject({ phase: 'Running', backup: run })
  expect(next.asked).toEqual([`shop-2 ${run}`])
})

it('What another manager has chosen meanwhile is not chosen a second time', async () => {
  const shared = someCluster()
  const manager = await aManager(shared)
  await manager.client.create(mysqlBackups, object('b'))
  const stale = await manager.stored('b')
  await manager.client.patch(
    mysqlBackups,
    { namespace: 'shops', name: 'b' },
    { status: { phase: 'Running', backup: '20261126T031200Z', instance: 'shop-1' } },
    { subresource: 'status' },
  )
  const { client, backups } = manager
  client.list = (async () => ({ items: [stale], resourceVersion: '1' })) as never
  backups.put(stale)
  expect(await manager.look()).toMatchObject({ backup: '20261126T031200Z', instance: 'shop-1' })
  expect(shared.asked).toEqual([])
})

it('A MySQLBackup waits while nothing can be copied, says why, and is given up after an hour', async () => {
  const shared = someCluster()
  const manager = await aManager(shared)
  await manager.client.create(mysqlBackups, object('b'))
  shared.state.refusal = 'no instance can be copied now'
  expect(await manager.look()).toEqual({ phase: 'Pending', message: 'no instance can be copied now' })
  manager.time.wallMs = Date.parse((await manager.stored('b')).metadata.creationTimestamp ?? '') + 3_600_000
  expect(await manager.look()).toMatchObject({
    phase: 'Failed',
    message: 'it could not begin within an hour: no instance can be copied now',
  })
  expect(manager.told.map(({ reason }) => reason)).toEqual(['BackupFailed'])
})

it('Of two objects of a cluster the second waits for the first', async () => {
  const shared = someCluster()
  const manager = await aManager(shared)
  for (const name of ['b', 'c']) await manager.client.create(mysqlBackups, object(name))
  await manager.look('b')
  expect(await manager.look('c')).toEqual({ phase: 'Pending', message: 'it waits for MySQLBackup b, which runs' })
})

it('A run that nobody made an object for gets one that begins nothing, once, also when that is deleted', async () => {
  const shared = someCluster()
  const manager = await aManager(shared)
  const cluster = aCluster()
  const tell = async () => {
    for (const one of (await manager.client.list(mysqlBackups)).items) manager.backups.put(one)
    await tellOfRuns(manager, cluster, [{ name: 'shop-2', backup: sends('sends') }], signal)
    return (await manager.client.list(mysqlBackups)).items.map(({ metadata, spec }) => [metadata.name, spec])
  }
  const made = [['shop-20261126t031209z', { cluster: 'shop', instance: 'shop-2', backup: run }]]
  expect([await tell(), await tell()]).toEqual([made, made])
  shared.state.instances = [{ name: 'shop-2', reachable: true, backup: sends('done') }]
  expect(await manager.look('shop-20261126t031209z')).toMatchObject({ phase: 'Succeeded', backup: run })
  expect(shared.asked).toEqual([])
  await manager.client.delete(mysqlBackups, { namespace: 'shops', name: 'shop-20261126t031209z' })
  for (const one of manager.backups.list()) manager.backups.delete(one)
  expect(await tell()).toEqual([])
})

it('A run that an object began gets no second one', async () => {
  const shared = someCluster()
  const manager = await aManager(shared)
  await manager.client.create(mysqlBackups, object('b'))
  await manager.look()
  // The cache has not seen the name yet that was chosen.
  manager.backups.put(object('b'))
  await tellOfRuns(manager, aCluster(), [{ name: 'shop-2', backup: sends('copies') }], signal)
  expect((await manager.client.list(mysqlBackups)).items.map(({ metadata }) => metadata.name)).toEqual(['b'])
})

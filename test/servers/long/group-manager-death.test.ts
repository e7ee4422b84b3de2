import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as immediate } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { ClusterRecord } from '#failover/protocol/record.ts'
import { layoutOf } from '#local/folder/state-layout.ts'
import { supervisorStatus } from '#local/supervisor/background.ts'
import { managerProcess } from '#local/supervisor/supervisor.ts'
import { fileStore } from '#store/file.ts'
import { startCluster, type TestCluster } from '#test/support/cluster.ts'
import {
  killManagerAt,
  pidsOf,
  promiseOf,
  recordOf,
  startManager,
  type ManagerStep,
} from '#test/support/dying-manager.ts'
import { monotonicMs } from '#test/support/monotonic.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { Writer } from '#test/support/writer.ts'

const spec = { mode: 'group' } as const
const all = ['shop-0', 'shop-1', 'shop-2']
const wholeMs = 120_000
const nothingLost = { lost: [], duplicated: [], differing: [], instances: 3 }

/** How many groups there are, by what every server calls the one that it is in. */
async function groupsOf(cluster: TestCluster): Promise<readonly string[]> {
  const { instances } = await cluster.status()
  const asked =
    'select concat(@@global.group_replication_group_name, " ", count(*)) from performance_schema.replication_group_members'
  return [...new Set(await Promise.all(instances.map(({ name }) => cluster.value(name, asked))))]
}

describe('A new group is formed once, and by one instance, when its first manager is killed', () => {
  type Reached = (record: ClusterRecord | undefined) => boolean
  const steps: Readonly<Record<string, Reached>> = {
    'before there is a record': () => true,
    'when the record says who forms the group': (record) => record?.group?.forming === true,
    'when the group is formed': (record) => record?.group?.forming === false && record.syncSet.length === 0,
    // Of two that are admitted within milliseconds of each other nobody sees the first alone.
    'when others are admitted': (record) => (record?.syncSet.length ?? 0) > 0,
  }

  it.each(Object.entries(steps))(
    '%s',
    async (_, reached) => {
      const home = await mkdtemp(join(tmpdir(), 'regent-'))
      const up = startCluster({ home, spec })
      const killed = killFirstManager(join(home, 'shop'), reached)
      const cluster = await up
      try {
        const left = await killed
        expect(reached(left)).toBe(true)
        await cluster.until('the next manager knows a primary', () =>
          cluster.view().then(
            ({ primary }) => primary !== null,
            () => false,
          ),
        )
        const writer = await Writer.start(cluster)
        expect(await cluster.whole(3, wholeMs)).toMatchObject({ primary: 'shop-0', epoch: 1 })
        expect(await groupsOf(cluster)).toEqual([expect.stringMatching(/ 3$/)])
        await writer.next()
        expect(await writer.check()).toMatchObject(nothingLost)
        await writer.stop()
      } finally {
        await cluster.down()
        await rm(home, { recursive: true, force: true })
      }
    },
    300_000,
  )

  /** The supervisor starts another one. */
  async function killFirstManager(dir: string, reached: Reached): Promise<ClusterRecord | undefined> {
    const layout = layoutOf(dir)
    const store = fileStore(layout.records)
    const until = monotonicMs() + 120_000
    while (monotonicMs() < until) {
      const pid = await supervisorStatus(layout).then(
        (all) => all?.find(({ name }) => name === managerProcess)?.identity?.pid,
        () => undefined,
      )
      if (pid === undefined) await immediate()
      else return killWhen(pid)
    }
    throw new Error('no manager was started')

    async function killWhen(pid: number): Promise<ClusterRecord | undefined> {
      for (;;) {
        const record = await store.readRecord('shop').catch(() => undefined)
        if (reached(record)) break
        if (monotonicMs() > until) throw new Error('the manager did not come so far')
        await immediate()
      }
      process.kill(pid, 'SIGKILL')
      return store.readRecord('shop')
    }
  }
})

const shop = withCluster({ spec })
const isIn = async (cluster: TestCluster, what: (record: ClusterRecord) => boolean) => what(await recordOf(cluster))
const says = ({ views }: TestCluster, words: string) => views.latest?.sentence.includes(words) === true

/** Kills the manager there, has another one started, and gives the record that was left. */
async function dies(step: ManagerStep, begin: () => void): Promise<ClusterRecord> {
  const cluster = shop.current
  const { epoch } = await cluster.view()
  const pids = await pidsOf(cluster)
  const left = await killManagerAt(step, cluster, { pids, next: epoch + 1, replicas: await cluster.replicas() }, begin)
  await startManager(cluster, pids.manager)
  return left
}

describe('A switchover is done or not done, never half, when its manager is killed', () => {
  const steps: Readonly<Record<string, ManagerStep>> = {
    'when it has put its intent into the record': {
      freeze: () => [],
      soFar: (cluster) => isIn(cluster, ({ intent }) => intent?.kind === 'switchover'),
    },
    'while the group elects': { freeze: () => [], soFar: async (cluster) => says(cluster, 'the group elects') },
    'when the record has followed': {
      freeze: () => [],
      soFar: (cluster, next) => isIn(cluster, ({ epoch }) => epoch === next),
    },
  }

  it.each(Object.entries(steps))(
    '%s',
    async (_, step) => {
      const cluster = shop.current
      const { primary: from } = await cluster.whole(3, wholeMs)
      const [to = ''] = await cluster.replicas()
      const writer = await Writer.start(cluster)
      // A transaction that is open is given its grace, and the election lasts as long.
      const busy = await cluster.session(from!, 'client')
      await busy.query('create table if not exists app.held (id int auto_increment primary key)')
      await busy.query('begin')
      await busy.query('insert into app.held values ()')
      let asked: Promise<unknown> | undefined
      await dies(step, () => {
        asked = cluster.switchover({ to }).catch((error: unknown) => error)
      })
      await asked
      const view = await cluster.whole(3, wholeMs)
      busy.destroy()
      expect([from, to]).toContain(view.primary)
      await writer.next()
      expect((await cluster.explain()).record?.intent).toBeNull()
      expect(await writer.check()).toMatchObject(nothingLost)
    },
    180_000,
  )
})

describe('A group is formed anew once when its manager is killed', () => {
  const steps: Readonly<Record<string, ManagerStep>> = {
    'when it has asked for promises': {
      freeze: () => [],
      soFar: async (cluster, next) => says(cluster, `to promise epoch ${next}`),
    },
    'when somebody has promised': {
      freeze: () => [],
      soFar: async (cluster, next) =>
        (await Promise.all(all.map((name) => promiseOf(cluster, name)))).some((promised) => promised === next),
    },
    'when the record says who forms it': {
      freeze: () => [],
      soFar: (cluster, next) => isIn(cluster, ({ epoch, group }) => epoch === next && group?.forming === true),
    },
    'when it is formed': {
      freeze: () => [],
      soFar: (cluster, next) => isIn(cluster, ({ epoch, group }) => epoch === next && group?.forming === false),
    },
  }

  it.each(Object.entries(steps))(
    '%s',
    async (_, step) => {
      const cluster = shop.current
      const { epoch } = await cluster.whole(3, wholeMs)
      const before = await groupsOf(cluster)
      const writer = await Writer.start(cluster)
      const { mysqld } = await pidsOf(cluster)
      await dies(step, () => all.forEach((name) => process.kill(mysqld(name), 'SIGKILL')))
      const view = await cluster.whole(3, wholeMs)
      expect(view.epoch).toBeGreaterThan(epoch)
      await writer.next()
      expect(await groupsOf(cluster)).toEqual(before)
      expect(await writer.check()).toMatchObject(nothingLost)
    },
    240_000,
  )
})

describe('A fourth instance comes and goes when the manager is killed', () => {
  const joins: Readonly<Record<string, ManagerStep>> = {
    'when it is there': { freeze: () => [], soFar: async ({ views }) => views.latest?.instances.length === 4 },
    'when it is admitted': {
      freeze: () => [],
      soFar: (cluster) => isIn(cluster, ({ syncSet }) => syncSet.length === 3),
    },
    'while it gets what it lacks': {
      freeze: () => [],
      soFar: async ({ views }) => views.latest?.instances.some(({ group }) => group?.state === 'RECOVERING') === true,
    },
  }
  const leaves: ManagerStep = {
    freeze: () => [],
    soFar: (cluster) => isIn(cluster, ({ leaving }) => leaving.length > 0),
  }

  it.each(Object.entries(joins))(
    '%s',
    async (_, step) => {
      const cluster = shop.current
      await cluster.whole(3, wholeMs)
      const writer = await Writer.start(cluster)
      await dies(step, () => void cluster.scale(4).catch(() => undefined))
      await cluster.whole(4, wholeMs)
      await writer.next()
      expect(await writer.check()).toMatchObject({ ...nothingLost, instances: 4 })
      await dies(leaves, () => void cluster.scale(3).catch(() => undefined))
      await cluster.whole(3, wholeMs)
      expect((await recordOf(cluster)).leaving).toEqual([])
    },
    240_000,
  )
})

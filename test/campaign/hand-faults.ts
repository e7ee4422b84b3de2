import { rm, writeFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Connection } from 'mysql2/promise'
import { byHand } from '../support/by-hand.ts'
import { anyone } from './process-faults.ts'
import type { Fault, Scene } from './scene.ts'

const longestWaitMs = 5_000

/** Statements of a person with all rights, one after the other. */
export async function hand({ cluster }: Scene, target: string, ...statements: readonly string[]): Promise<void> {
  const late = new AbortController()
  const tooLong = new Promise<never>((_, reject) => {
    const timer = setTimeout(
      () => reject(new Error(`"${statements.join('; ')}" at ${target} took too long`)),
      longestWaitMs,
    )
    late.signal.addEventListener('abort', () => clearTimeout(timer))
  })
  await Promise.race([byHand(cluster, target, ...statements), tooLong]).finally(() => late.abort())
}

/** A session that keeps a lock, or waits for one, until the fault is healed or Regent ends it. */
async function holding(scene: Scene, target: string, statement: string): Promise<Connection> {
  const session = await scene.cluster.session(target)
  session.query(statement).catch(() => undefined)
  return session
}

function delay(scene: Scene, target: string): Promise<void> {
  return hand(
    scene,
    target,
    'stop replica sql_thread',
    'change replication source to source_delay = 600',
    'start replica sql_thread',
  )
}

function lock(name: string, statement: string): Fault {
  return {
    name,
    weight: 2,
    async strike(scene) {
      const target = anyone(scene)
      const session = await holding(scene, target, statement)
      return { did: `"${statement}" at ${target}`, heal: async () => session.destroy() }
    },
  }
}

export function setting(
  name: string,
  values: readonly string[],
  rules: Pick<Fault, 'weight' | 'alone' | 'mode'>,
): Fault {
  return {
    name,
    ...rules,
    async strike(scene) {
      const [target, value] = [anyone(scene), scene.dice.pick(values)]
      await hand(scene, target, `set global ${value}`)
      return { did: `set global ${value} at ${target}` }
    },
  }
}

export const handFaults: readonly Fault[] = [
  lock('a backup locks all tables', 'flush tables with read lock'),
  lock('a backup locks the instance', 'lock instance for backup'),
  {
    name: 'mysqld is told to end',
    weight: 2,
    alone: true,
    async strike(scene) {
      const target = anyone(scene)
      await hand(scene, target, 'shutdown')
      return { did: `SHUTDOWN at ${target}` }
    },
  },
  {
    name: 'a replica is delayed',
    mode: 'semisync',
    weight: 2,
    async strike(scene) {
      const target = scene.dice.pick(scene.replicas)
      await delay(scene, target)
      return { did: `SOURCE_DELAY at ${target}` }
    },
  },
  {
    // The server throws away what it received and has not applied, when it is pointed anew with both threads stopped.
    name: 'delays are lifted in the middle of a failover',
    mode: 'semisync',
    weight: 2,
    alone: true,
    async strike(scene) {
      for (const replica of scene.replicas) await delay(scene, replica)
      await sleep(scene.dice.between(0, 1_500))
      await scene.cluster.fault(scene.primary, 'kill-mysqld')
      await sleep(scene.dice.between(0, 1_000))
      const lift = ['stop replica', 'change replication source to source_delay = 0', 'start replica']
      await Promise.allSettled(scene.replicas.map((replica) => hand(scene, replica, ...lift)))
      return {
        did: `SOURCE_DELAY at ${scene.replicas.join(' and ')}, mysqld of ${scene.primary} killed, the delays lifted`,
      }
    },
  },
  {
    name: 'a replica is stopped',
    mode: 'semisync',
    weight: 2,
    async strike(scene) {
      const [target, what] = [
        scene.dice.pick(scene.replicas),
        scene.dice.pick(['stop replica', 'stop replica sql_thread', 'stop replica io_thread']),
      ]
      await hand(scene, target, what)
      return { did: `${what} at ${target}` }
    },
  },
  {
    name: 'a replica forgets its GTIDs',
    mode: 'semisync',
    weight: 1,
    alone: true,
    async strike(scene) {
      const target = scene.dice.pick(scene.replicas)
      await hand(
        scene,
        target,
        'stop replica',
        'set global super_read_only = off',
        'reset binary logs and gtids',
        'start replica',
      )
      return { did: `RESET BINARY LOGS AND GTIDS at ${target}` }
    },
  },
  setting(
    'a setting is changed',
    ['sync_binlog = 0', 'innodb_flush_log_at_trx_commit = 2', 'super_read_only = on', 'offline_mode = on'],
    { weight: 3 },
  ),
  setting('somebody is made writable', ['super_read_only = off'], { weight: 1, mode: 'semisync' }),
  // Until these are put right, a client may hear OK that no replica stands for: docs/why/safety.md, "What is not
  // covered".
  setting(
    'acknowledgements are tampered with',
    [
      'rpl_semi_sync_source_enabled = off',
      'rpl_semi_sync_source_wait_for_replica_count = 1',
      'binlog_order_commits = off',
    ],
    { weight: 2, alone: true, mode: 'semisync' },
  ),
  {
    name: 'binlogs are purged',
    weight: 2,
    async strike(scene) {
      await hand(scene, scene.primary, 'flush binary logs', 'purge binary logs before now()')
      return { did: `binlogs purged at ${scene.primary}` }
    },
  },
  {
    name: 'a large transaction',
    weight: 2,
    async strike(scene) {
      const [mebibytes, session] = [scene.dice.pick([1, 5, 20]), await scene.cluster.session(scene.primary)]
      await session.query('create table if not exists app.large (id int auto_increment primary key, body longblob)')
      session
        .query(`insert into app.large (body) values (repeat('x', ${mebibytes * 1_048_576}))`)
        .catch(() => undefined)
      return { did: `${mebibytes} MiB in one transaction at ${scene.primary}`, heal: async () => session.destroy() }
    },
  },
  {
    name: 'a person asks for a switchover',
    weight: 4,
    async strike({ cluster, dice, replicas }) {
      const to = dice.share() < 0.5 ? { to: dice.pick(replicas) } : {}
      const { done } = await cluster.switchover(to)
      return { did: `switchover${to.to === undefined ? '' : ` to ${to.to}`}: ${String(done)}` }
    },
  },
  {
    name: 'the published route is spoilt',
    weight: 1,
    async strike({ cluster, dice }) {
      const junk = dice.pick(['removed', 'no JSON', '{"primary":{"host":"127.0.0.9","port":1},"epoch":999}'])
      await (junk === 'removed' ? rm(cluster.layout.routes, { force: true }) : writeFile(cluster.layout.routes, junk))
      return { did: `routes.json: ${junk}` }
    },
  },
]

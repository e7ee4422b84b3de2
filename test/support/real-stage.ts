import { cp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Connection } from 'mysql2/promise'
import type { AgentConfig } from '#agents/instance/config.ts'
import { volumeLayout } from '#agents/instance/volume-layout.ts'
import type { VolumePort } from '#agents/ports/volume.ts'
import type { ServerPort } from '#agents/ports/server.ts'
import { createVolume } from '#agents/volume/volume.ts'
import type { Heard, Lock, LockHolder, Stage, StagedServer, StagedWrite } from '../simulation/mysqld/steps/stage.ts'
import { BareInstance, until } from './bare-instance.ts'
import { patienceMs } from './patience.ts'
import { queryWithin } from './sql-session.ts'
import { eachOne } from './each-one.ts'

const handMs = patienceMs
/** ER_OPTION_PREVENTS_STATEMENT and ER_SERVER_OFFLINE_MODE. */
const refusals: ReadonlySet<unknown> = new Set([1290, 3032])
const insert = 'INSERT INTO t VALUES ()'

/** An instance with the table that clients write to, and no transaction. Others begin as copies of this one. */
export async function prepareVolume(more: Partial<AgentConfig> = {}): Promise<BareInstance> {
  const template = await BareInstance.create('bare-0', {}, more)
  await template.process.initialise()
  await template.start()
  await template.server.open()
  const hand = await template.session('regent', 'app')
  await queryWithin(hand, 'SET SESSION sql_log_bin = 0', handMs)
  await queryWithin(hand, 'CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY)', handMs)
  await template.server.shutdown()
  await until(() => template.process.state === 'dead', 'the template is shut down')
  return template
}

/** Real servers without agents, begun anew from a prepared volume. */
export class RealStage implements Stage {
  readonly servers: readonly RealServer[]
  readonly sleep = (ms: number): Promise<void> => sleep(ms)
  readonly until: Stage['until'] = (look, what) => until(look, what)

  private constructor(servers: readonly RealServer[]) {
    this.servers = servers
  }

  static async create(template: BareInstance, count: number): Promise<RealStage> {
    const servers = Array.from({ length: count }, async (_, ordinal) => {
      const instance = await BareInstance.create(`bare-${ordinal}`)
      await copyVolume(template, instance)
      return new RealServer(instance)
    })
    return new RealStage(await Promise.all(servers))
  }

  async remove(): Promise<void> {
    await eachOne(this.servers, (server) => server.remove())
  }
}

export class RealServer implements StagedServer {
  protected readonly instance: BareInstance
  readonly volume: VolumePort

  constructor(instance: BareInstance) {
    this.instance = instance
    this.volume = createVolume(instance.config, () => Date.now())
  }

  get name(): string {
    return this.instance.name
  }

  get port(): ServerPort {
    return this.instance.server
  }

  start(): Promise<void> {
    return this.instance.start()
  }

  async kill(): Promise<void> {
    await this.instance.process.kill()
    this.port.disconnect()
  }

  async terminate(): Promise<void> {
    const { process: mysqld } = this.instance
    process.kill(mysqld.pid ?? 0, 'SIGTERM')
    await until(() => mysqld.state === 'dead', `${this.name} ends`)
    this.port.disconnect()
  }

  async write(): Promise<StagedWrite> {
    try {
      return this.#begin(await this.instance.session('client', 'app'))
    } catch (error) {
      if (!isRefusal(error)) throw error
      return { heard: 'refused', ends: async () => 'refused', kill: async () => undefined }
    }
  }

  async writeTogether(count: number): Promise<readonly StagedWrite[]> {
    const sessions = await Promise.all(Array.from({ length: count }, () => this.instance.session('client', 'app')))
    // The first waits for the others before it syncs the binlog for them all.
    const gather = (us: number) => `SET GLOBAL binlog_group_commit_sync_delay = ${us},
      GLOBAL binlog_group_commit_sync_no_delay_count = ${us === 0 ? 0 : count}`
    await this.#byHand(gather(1_000_000))
    const writes: StagedWrite[] = []
    for (const session of sessions) {
      writes.push(this.#begin(session))
      // In this order.
      await until(async () => (await this.port.waitingSessions()) >= writes.length, 'the write has its GTID')
    }
    await until(async () => (await this.port.readState()).semiSyncSource.waiting > 0, 'the group waits')
    await this.#byHand(gather(0))
    return writes
  }

  sourceFor(replica: StagedServer): ReturnType<StagedServer['sourceFor']> {
    if (!(replica instanceof RealServer)) throw new Error(`${replica.name} is on another stage`)
    return this.instance.sourceFor(replica.instance)
  }

  changeSourceWithBothStopped(): Promise<void> {
    return this.#byHand('STOP REPLICA', 'CHANGE REPLICATION SOURCE TO SOURCE_CONNECT_RETRY = 1')
  }

  async takeLock(lock: Lock): Promise<LockHolder> {
    const session = await this.instance.session('admin')
    const statements: Readonly<Record<Lock, string>> = {
      'the global read lock': 'FLUSH TABLES WITH READ LOCK',
      'the backup lock': 'LOCK INSTANCE FOR BACKUP',
    }
    await queryWithin(session, statements[lock], handMs)
    return { release: async () => session.destroy() }
  }

  remove(): Promise<void> {
    return this.instance.remove()
  }

  #begin(session: Connection): StagedWrite {
    return new RealWrite(session, () => this.#byHand(`KILL CONNECTION ${session.threadId}`))
  }

  async #byHand(...statements: readonly string[]): Promise<void> {
    const hand = await this.instance.session('regent')
    await queryWithin(hand, 'SET SESSION sql_log_bin = 0', handMs)
    for (const statement of statements) await queryWithin(hand, statement, handMs)
    hand.destroy()
  }
}

/** Another server with what the prepared one has. It takes a `server_uuid` of its own. */
export async function copyVolume(template: BareInstance, instance: BareInstance): Promise<void> {
  const { dataDir } = volumeLayout(instance.config.volume)
  await cp(volumeLayout(template.config.volume).dataDir, dataDir, { recursive: true })
  await rm(join(dataDir, 'auto.cnf'))
}

function isRefusal(error: unknown): boolean {
  return refusals.has((error as { errno?: number }).errno)
}

class RealWrite implements StagedWrite {
  readonly kill: () => Promise<void>
  readonly #answer: Promise<Heard>
  heard: Heard = 'nothing'

  constructor(session: Connection, kill: () => Promise<void>) {
    this.kill = kill
    this.#answer = session.query(insert).then(
      () => 'OK' as const,
      (error: unknown) => (isRefusal(error) ? 'refused' : 'lost'),
    )
    void this.#answer.then((heard) => (this.heard = heard))
  }

  async ends(): Promise<Heard> {
    await until(() => this.heard !== 'nothing', 'the client hears of its write')
    return this.heard
  }
}

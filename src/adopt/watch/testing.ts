import { dialectFor } from '#agents/sql/dialect/dialect.ts'
import { gtids, uuidOf } from '#topology/testing.ts'
import { checkAdoption, hostsOf, type Adoption } from '../adoption.ts'
import type { Reach, SeenChannel, SeenServer } from '../servers/seen.ts'
import { judge, type Judgement } from './judge.ts'
import type { Look } from './look.ts'

/** Now, and when the newest looks began and ended. */
export const nowMs = 100_000
const [askedMs, answeredMs] = [nowMs - 200, nowMs - 190]

export interface LookOverrides {
  readonly reach?: Reach
  readonly why?: string
  readonly sinceMs?: number
  readonly askedMs?: number
  /** Null: it was never seen. */
  readonly server?: Partial<SeenServer> | null
  /** Whom it follows, by ordinal; null for nobody. By default the first, which follows nobody. */
  readonly follows?: number | null
  readonly channel?: Partial<SeenChannel>
}

export interface Scene {
  readonly adoption?: Partial<Record<'mode' | 'failover' | 'ssh' | 'hooks' | 'maxLagSeconds', unknown>>
  /** More than address and port, by ordinal. */
  readonly hosts?: Readonly<Record<number, object>>
  /** By default three: a primary and two replicas that are well. */
  readonly looks?: readonly LookOverrides[]
  readonly before?: string | null
}

export function anAdoption({ adoption = {}, hosts = {}, looks = [{}, {}, {}] }: Scene = {}): Adoption {
  return checkAdoption('the test', {
    ...{ cluster: 'shop', mysql: { user: 'regent', passwordFile: '/p' }, ...adoption },
    hosts: looks.map((_, ordinal) => ({ host: `10.0.0.${ordinal + 1}`, ...hosts[ordinal] })),
  })
}

export function looksOf(scene: Scene): readonly Look[] {
  const hosts = hostsOf(anAdoption(scene))
  return (scene.looks ?? [{}, {}, {}]).map((overrides, ordinal): Look => {
    const { reach = 'answers', why = '', server, sinceMs } = overrides
    const host = hosts[ordinal]
    if (host === undefined) throw new Error(`there is no host ${ordinal}`)
    return {
      ...{ host, reach, why, askedMs: overrides.askedMs ?? askedMs, answeredMs },
      sinceMs: sinceMs ?? (reach === 'answers' ? 0 : nowMs - 2_000),
      server: server === null ? null : aServer(ordinal, overrides),
      before: { executed: server?.executed ?? gtids('shop-0', 100), answeredMs: answeredMs - 1_000 },
    }
  })
}

export function judged(scene: Scene): Judgement {
  const { before = null } = scene
  return judge({ adoption: anAdoption(scene), looks: looksOf(scene), before, nowMs })
}

function aServer(ordinal: number, { server, follows = ordinal === 0 ? null : 0, channel }: LookOverrides): SeenServer {
  const version = server?.version ?? '9.7.4'
  const dialect = dialectFor(version)
  if (dialect === undefined) throw new Error(`no dialect knows ${version}`)
  return {
    ...{ dialect, version, uuid: uuidOf(`shop-${ordinal}`), serverId: ordinal + 1, hostname: `db${ordinal}` },
    ...{ port: 3306, dataDir: '/data', reportHost: `10.0.0.${ordinal + 1}`, gtidMode: 'ON', loadsPersisted: true },
    ...{ logBin: true, logReplicaUpdates: true, binlogFormat: 'ROW', netTimeoutSeconds: 4 },
    ...{
      semiSyncSource: false,
      semiSyncWaits: server?.semiSyncSource ?? false,
      semiSyncReplica: false,
      listed: [],
      dumpHosts: [],
      lacks: [],
    },
    grants: ['GRANT ALL PRIVILEGES ON *.* TO `regent`@`%` WITH GRANT OPTION'],
    ...{ readOnly: follows !== null, superReadOnly: follows !== null, offline: false, mhaWatches: false },
    ...{ executed: gtids('shop-0', 100), binlog: { file: 'binlog.000007', position: 1_000 } },
    channels: follows === null ? [] : [aChannel(follows, channel)],
    ...server,
  }
}

export function aChannel(follows: number, overrides: Partial<SeenChannel> = {}): SeenChannel {
  return {
    ...{ name: '', sourceHost: `10.0.0.${follows + 1}`, sourcePort: 3306, sourceUser: 'repl' },
    ...{ sourceUuid: uuidOf(`shop-${follows}`), io: 'yes', ioError: '', ioErrno: 0, sql: true, sqlError: '' },
    ...{ lagSeconds: 0, received: gtids('shop-0', 100), filtered: false, autoPosition: true, delaySeconds: 0 },
    ...{ read: { file: 'binlog.000007', position: 1_000 }, applied: { file: 'binlog.000007', position: 1_000 } },
    ...overrides,
  }
}

import { Value } from 'typebox/value'
import { memberId, type InstanceName, type MemberId } from '#topology/snapshot/member.ts'
import type { Snapshot } from '#topology/snapshot/snapshot.ts'
import { aSnapshot, gtids, memberOf, type SnapshotShape, type ViewOverrides } from '#topology/testing.ts'
import { modeOf } from './decide.ts'
import { backupSettingsSchema, type BackupSettings } from './protocol/backup-settings.ts'
import type { Action, CommitAction, Decision } from './protocol/decision.ts'
import { emptyNotes, type ClusterNotes, type Loss } from './protocol/notes.ts'
import { recordVersion, type ClusterRecord, type FetchIntent, type SwitchoverIntent } from './protocol/record.ts'
import type { DecisionInput, Situation } from './judge/situation.ts'
import { clusterSpecSchema, type ClusterSpec } from './protocol/spec.ts'
import { defaultTimings } from './protocol/timings.ts'

/**
 * Situations for tests: the healthy cluster `shop` of `topology/testing.ts` with its record, except for what a test
 * overrides.
 */
export interface SituationOverrides extends Partial<Omit<DecisionInput, 'record' | 'snapshot' | 'spec' | 'notes'>> {
  readonly record?: Partial<ClusterRecord>
  readonly views?: Readonly<Record<InstanceName, ViewOverrides>>
  readonly shape?: SnapshotShape
  readonly snapshot?: Snapshot
  readonly spec?: Partial<ClusterSpec>
  readonly notes?: Partial<ClusterNotes>
}

export const shop0 = memberOf('shop-0')
export const shop1 = memberOf('shop-1')
export const shop2 = memberOf('shop-2')
/** The instance shop-2 on another volume. */
export const memberElsewhere = memberId('shop-2', 'another-volume')

/** Epoch 1 at revision 1: shop-0 leads, all others are in the sync set, k is ⌊N/2⌋. */
export function aRecord(overrides: Partial<ClusterRecord> = {}, instances = 3): ClusterRecord {
  const replicas = Array.from({ length: instances - 1 }, (_, index) => memberOf(`shop-${index + 1}`))
  const acks = overrides.acks ?? Math.floor(instances / 2)
  return {
    version: recordVersion,
    cluster: 'shop',
    epoch: 1,
    revision: 1,
    primary: shop0,
    syncSet: replicas,
    leaving: [],
    acks,
    acksWanted: acks,
    intent: null,
    ...overrides,
  }
}

export function aSpec(overrides: Partial<ClusterSpec> = {}): ClusterSpec {
  const spec = Value.Default(clusterSpecSchema, {}) as ClusterSpec
  return { ...spec, ...overrides }
}

/** Backups that nobody makes unless asked, as most tests want. */
export function aBackup(overrides: Partial<BackupSettings> = {}): BackupSettings {
  const settings = Value.Default(backupSettingsSchema, { store: { address: '/backups' } }) as BackupSettings
  return { ...settings, schedule: null, rehearsal: { schedule: null }, ...overrides }
}

export function aSituation(overrides: SituationOverrides = {}): Situation {
  const { record, views, shape, snapshot, spec, notes, ...rest } = overrides
  const instances = shape?.instances ?? 3
  return {
    cluster: 'shop',
    snapshot: snapshot ?? aSnapshot(views, shape),
    record: aRecord(record, instances),
    notes: { ...emptyNotes, ...notes },
    spec: aSpec({ instances, ...spec }),
    timings: defaultTimings,
    requests: [],
    refused: new Map(),
    nowMs: 1_100,
    wallMs: 1_000_000,
    steadyWallMs: rest.wallMs ?? 1_000_000,
    manager: 'me',
    managerSinceMs: 0,
    follows: modeOf(aSpec(spec)).follows,
    leadsSinceMs: 0,
    published: { epoch: 1, instance: 'shop-0', host: '127.24.1.1', port: 3306 },
    strayingSince: new Map(),
    deafSinceMs: null,
    leaseBlockedSinceMs: null,
    passedOver: new Map(),
    inFlight: new Map(),
    failedRequests: new Map(),
    givenUp: [],
    ...rest,
  }
}

/** What a replica of shop-0 is told that does not count. */
export const uncounted = {
  epoch: 1,
  revision: 1,
  role: 'replica',
  counted: false,
  fenced: false,
  source: 'shop-0',
} as const

/** mysqld ended; its agent says so. */
export const deadServer: ViewOverrides = {
  process: 'dead',
  processSinceMs: 12,
  server: null,
  converged: { revision: 1, done: false, sentence: 'mysqld ended' },
}

/** The same of the primary: its agent has read the binlog, which has a tail that nobody received. */
export const deadPrimary: ViewOverrides = { ...deadServer, binlogSet: gtids('shop-0', 103) }

/** The policy of an instance that is never promoted. */
export const never = { promotion: 'never', priority: 0 } as const

/** Its agent is silent for longer than it may be. */
export const lostAgent: ViewOverrides = { reachable: false }

/** What a replica shows that promised `epoch` and holds the first `last` transactions of shop-0. */
export function promised(
  last = 100,
  { epoch = 2, ...overrides }: ViewOverrides & { epoch?: number } = {},
): ViewOverrides {
  const holds = gtids('shop-0', last)
  return {
    promiseReport: { epoch, holds, executed: holds, asPrimary: false },
    ...overrides,
    stored: { promise: epoch, ...overrides.stored },
  }
}

/** The same of the record's own primary: killed, or demoted where its server runs. */
export function promisedAsPrimary(last = 100, overrides: ViewOverrides & { epoch?: number } = {}): ViewOverrides {
  const view = promised(last, overrides)
  return view.promiseReport ? { ...view, promiseReport: { ...view.promiseReport, asPrimary: true } } : view
}

export function fetchIntent(overrides: Partial<FetchIntent> = {}): FetchIntent {
  return { kind: 'fetch', by: 'me', candidate: shop1, ...overrides }
}

export function switchoverIntent(overrides: Partial<SwitchoverIntent> = {}): SwitchoverIntent {
  return {
    kind: 'switchover',
    by: 'me',
    candidate: shop1,
    request: 'request-1',
    deadlineWallMs: 1_010_000,
    reason: 'asked for',
    ...overrides,
  }
}

/** The record a decision commits; fails the test where it commits none. */
export function committed(decision: { readonly actions: readonly Action[] }): ClusterRecord {
  return commitIn(decision).next
}

/** What the commit gives up; undefined for nothing. */
export function lossIn(decision: { readonly actions: readonly Action[] }): Loss | undefined {
  return commitIn(decision).loss
}

function commitIn({ actions }: { readonly actions: readonly Action[] }): CommitAction {
  const commit = actions.find((action) => action.kind === 'commit')
  if (commit === undefined)
    throw new Error(`nothing is committed; actions: ${actions.map(({ kind }) => kind).join(', ') || 'none'}`)
  return commit
}

/** Orders as short texts, in the order they are sent: `promise shop-1 2@1`, `follow shop-1 counted 1@1`. */
export function ordersOf({ actions }: Pick<Decision, 'actions'>): readonly string[] {
  return actions.flatMap((action) => {
    if (!('order' in action)) return []
    const version = `${action.order.epoch}@${action.order.revision}`
    if (action.kind !== 'assign') return [`${action.kind} ${action.to} ${version}`]
    const { order } = action
    return order.role === 'primary'
      ? [
          `primary ${action.to} counts [${order.counted.join()}] lets in [${order.catchingUp.join()}] k=${order.acks}${order.mayRestart ? ' may restart' : ''} ` +
            `${version}`,
        ]
      : [
          `${order.sourceReady === false ? 'prepare' : 'follow'} ${action.to}${order.counted ? ' counted' : ''} ${version}`,
        ]
  })
}

export function namesOf(members: readonly MemberId[]): string {
  return members.map((member) => member.replace(/@.*/, '')).join()
}

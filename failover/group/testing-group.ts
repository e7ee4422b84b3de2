import type { InstanceName } from '#topology/snapshot/member.ts'
import type { StoredSummary } from '#topology/snapshot/observation.ts'
import { hostOf, type ViewOverrides } from '#topology/testing.ts'
import { groupName, groupViews, outsideGroup, viewId, type GroupShape } from '#topology/testing-group.ts'
import type { Decision } from '../protocol/decision.ts'
import type { ClusterRecord } from '../protocol/record.ts'
import type { Situation } from '../judge/situation.ts'
import { aSituation, type SituationOverrides } from '../testing.ts'

/** Revision of the record in these tests, unless a test says otherwise. */
export const revision = 5

export interface GroupSituation extends SituationOverrides {
  /** What each instance sees of the group. */
  readonly sees?: Readonly<Record<InstanceName, GroupShape>>
}

const addresses = Object.fromEntries([0, 1, 2].map((at) => [`shop-${at}`, `${hostOf(`shop-${at}`)}:9400`]))

/** The cluster `shop` in mode group, healthy and told everything, except for what a test overrides. */
export function aGroupSituation({ record, views = {}, sees, spec, ...more }: GroupSituation = {}): Situation {
  const names = ['shop-0', 'shop-1', 'shop-2']
  const told = Object.fromEntries(
    names.map((name) => [
      name,
      { ...asTold(name), ...views[name], stored: { ...storedAs(name), ...views[name]?.stored } },
    ]),
  )
  return aSituation({
    ...more,
    spec: { mode: 'group', ...spec },
    record: { revision, acks: 0, acksWanted: 0, ...groupRecord(false), ...record },
    views: groupViews(sees, told),
  })
}

function asTold(name: InstanceName): ViewOverrides {
  return { converged: { revision, done: true, sentence: `${name} is as told` } }
}

/** Told to be what the record of the healthy cluster says. */
export function storedAs(name: InstanceName, more: Partial<StoredSummary> = {}): Partial<StoredSummary> {
  const isPrimary = name === 'shop-0'
  return {
    revision,
    formedEpoch: 0,
    assignment: {
      epoch: 1,
      revision,
      role: isPrimary ? 'primary' : 'replica',
      counted: !isPrimary,
      fenced: false,
      source: isPrimary ? null : 'shop-0',
      groupDoes: 'join',
      addresses,
    },
    ...more,
  }
}

/** Nobody is in the group. */
export const nobodyIn = { 'shop-0': outsideGroup(), 'shop-1': outsideGroup(), 'shop-2': outsideGroup() }

/** What each is told to do about the group: `shop-1 join`, with who is counted. */
export function tasksIn({ actions }: Pick<Decision, 'actions'>): readonly string[] {
  return actions.flatMap((action) =>
    action.kind === 'assign' ? [`${action.to} ${action.order.group?.does ?? 'nothing'}`] : [],
  )
}

/** A person asks for a failover, to that instance or to any. */
export function askedFor(to: string | null, acceptLoss = true) {
  return { requests: [{ kind: 'failover', id: 'asked', to, acceptLoss }] } as const
}

export function groupRecord(forming: boolean): Pick<ClusterRecord, 'group'> {
  return { group: { name: groupName, forming, ...(forming ? {} : { view: viewId(1) }) } }
}

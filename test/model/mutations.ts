import type { Action, Decision } from '../../failover/protocol/decision.ts'
import type { ClusterRecord } from '../../failover/protocol/record.ts'
import type { DecisionInput } from '../../failover/judge/situation.ts'
import type { MemberId } from '../../topology/snapshot/member.ts'
import type { WorldOptions } from './model-world.ts'
import { onlyWith } from './run.ts'

/** One rule of safety (docs/why/safety.md) taken away, in the managers' decisions or in every agent. */
export interface Mutation extends Pick<WorldOptions, 'flaws' | 'broken'> {
  /** The smallest world known to expose it. */
  readonly where?: Partial<WorldOptions>
  /** Where to begin to look: what was found there is found at once. */
  readonly seed: number
}

type Decide = (input: DecisionInput) => Decision

/**
 * Deliberately broken deciders and agents. The checker must catch each of them: else it would not notice when the real
 * ones break the same rule.
 */
export const mutations: Readonly<Record<string, Mutation>> = {
  'an epoch is revoked by one promise too few': {
    seed: 1,
    broken: whileFailing((record) => ({ ...record, acks: record.acks + 1 })),
  },
  'an epoch is revoked through S although S is smaller than k': {
    seed: 16,
    broken: whileFailing((record) => ({ ...record, acks: Math.max(1, Math.min(record.acks, record.syncSet.length)) })),
  },
  'the new primary need not hold the union': { seed: 20, broken: changingCommits(electAnybody) },
  'S′ takes members that promised nothing': { seed: 3, broken: changingCommits(keepAllOfS) },
  'S′ need not hold what the new primary holds': { seed: 20, broken: changingCommits(neverEmptyS) },
  'a gate opens before the record says so': {
    seed: 1,
    broken: (input, real) => changeOrders(real(input), (action) => countEverybody(action, input)),
  },
  'replicas are let in before they have stored that they do not count': {
    seed: 1,
    broken: (input, real) => changeOrders(real(input), (action) => letEverybodyIn(action, input)),
  },
  'a member is dropped before its gate is closed': {
    seed: 1,
    broken: changingCommits((next) => ({
      ...next,
      syncSet: next.syncSet.filter((member) => !next.leaving.includes(member)),
      leaving: [],
    })),
  },
  'a member is added without proof while S is smaller than k': { seed: 4, broken: addWithoutProof },
  'k is raised before the primary waits for it': {
    seed: 6,
    broken: changingCommits((next) => ({ ...next, acks: next.acksWanted })),
  },
  'k is lowered without proof while S is smaller than k': { seed: 23, broken: lowerWithoutProof },
  'agents report before they have stopped': { seed: 28, flaws: { reportsBeforeStop: true } },
  'agents forget their promise when they die': { seed: 3, flaws: { forgetsPromise: true } },
  'agents take orders of an older revision': { seed: 7, flaws: { ignoresRevision: true } },
  'agents take orders of an older epoch': { seed: 33, flaws: { ignoresEpoch: true } },
  'a machine’s crash is not told': {
    seed: 5,
    where: { instances: 3, managers: 1, never: null, without: onlyWith('a machine crashes') },
    flaws: { hidesForgetfulness: true },
  },
  'a volume that went back in time is believed': {
    seed: 3,
    where: {
      instances: 3,
      managers: 1,
      never: null,
      without: onlyWith('somebody copies a volume', 'a volume goes back in time'),
    },
    flaws: { believesThePast: true },
  },
  'everybody acknowledges': { seed: 1, flaws: { countsEverybody: true } },
  'a marker counts before it is acknowledged': { seed: 7, flaws: { marksAtOnce: true } },
  'a primary promises and goes on': { seed: 7, flaws: { promisesWhileOpen: true } },
  'an elected primary opens with less than it was elected for': {
    seed: 1,
    where: {
      instances: 3,
      managers: 1,
      never: null,
      without: onlyWith('an applier is held back', 'received, unapplied writes are thrown away by a hand'),
    },
    flaws: { opensWithLess: true },
  },
  'a stop by a stranger’s hand is not told': { seed: 2, flaws: { hidesUnsettled: true } },
  'an agent that is started again ends those who wait for an acknowledgement': {
    seed: 1,
    where: { instances: 3, managers: 1, durability: 'strict', never: null, without: 0 },
    flaws: { opensTwice: true },
  },
  'an unsettled tail is not noted': {
    seed: 6,
    where: { instances: 3, managers: 1, durability: 'strict', never: null, without: 0 },
    broken: (input, real) => real({ ...input, notes: { ...input.notes, unsettled: [] } }),
  },
  'silence is shown before its agent knows whether a stranger stops the server': {
    seed: 1,
    flaws: { showsSilenceFirst: true },
  },
}

/** Decides a failover as if the record were another; what is committed has the real k. */
function whileFailing(pretend: (record: ClusterRecord) => ClusterRecord): NonNullable<WorldOptions['broken']> {
  return (input, real) => {
    const honest = real(input)
    const { record } = input
    if (
      record === undefined ||
      (honest.flow !== 'failover' && honest.flow !== 'restart' && !honest.sentence.startsWith('no automatic failover'))
    )
      return honest
    return changeCommits(real({ ...input, record: pretend(record) }), (next) => ({
      ...next,
      acks: record.acks,
      acksWanted: record.acksWanted,
    }))
  }
}

function changingCommits(
  change: (next: ClusterRecord, input: DecisionInput & { record: ClusterRecord }) => ClusterRecord,
): NonNullable<WorldOptions['broken']> {
  return (input, real) => {
    const { record } = input
    return record === undefined ? real(input) : changeCommits(real(input), (next) => change(next, { ...input, record }))
  }
}

function changeCommits(decision: Decision, change: (next: ClusterRecord) => ClusterRecord): Decision {
  return {
    ...decision,
    actions: decision.actions.map((action) =>
      action.kind === 'commit' ? { ...action, next: change(action.next) } : action,
    ),
  }
}

function changeOrders(decision: Decision, change: (action: Action) => Action): Decision {
  return { ...decision, actions: decision.actions.map(change) }
}

function promisedIn(input: DecisionInput, epoch: number): readonly MemberId[] {
  return input.snapshot.instances.flatMap(({ observation, reachable }) =>
    reachable && observation?.promiseReport?.epoch === epoch && !observation.promiseReport.asPrimary
      ? [observation.member]
      : [],
  )
}

function electAnybody(next: ClusterRecord, input: DecisionInput & { record: ClusterRecord }): ClusterRecord {
  if (next.primary === input.record.primary) return next
  const other = promisedIn(input, next.epoch).find((member) => member !== next.primary)
  return other === undefined
    ? next
    : { ...next, primary: other, syncSet: next.syncSet.map((member) => (member === other ? next.primary : member)) }
}

function keepAllOfS(next: ClusterRecord, { record }: { record: ClusterRecord }): ClusterRecord {
  return next.primary === record.primary
    ? next
    : { ...next, syncSet: record.syncSet.filter((member) => member !== next.primary) }
}

function neverEmptyS(next: ClusterRecord, input: DecisionInput & { record: ClusterRecord }): ClusterRecord {
  if (next.primary === input.record.primary || next.syncSet.length > 0) return next
  return {
    ...next,
    syncSet: promisedIn(input, next.epoch).filter(
      (member) => member !== next.primary && input.record.syncSet.includes(member),
    ),
  }
}

function countEverybody(action: Action, { snapshot }: DecisionInput): Action {
  if (action.kind !== 'assign') return action
  const { order } = action
  return {
    ...action,
    order:
      order.role === 'primary'
        ? { ...order, counted: snapshot.instances.map(({ name }) => name).filter((name) => name !== action.to) }
        : { ...order, counted: true },
  }
}

function letEverybodyIn(action: Action, { snapshot }: DecisionInput): Action {
  if (action.kind !== 'assign' || action.order.role !== 'primary') return action
  const catchingUp = snapshot.instances.map(({ name }) => name).filter((name) => name !== action.to)
  return { ...action, order: { ...action.order, catchingUp } }
}

function followersOutsideOfS({ snapshot }: DecisionInput, record: ClusterRecord): readonly MemberId[] {
  return snapshot.instances.flatMap(({ observation }) => {
    const follows =
      observation?.stored.assignment?.role === 'replica' && observation.stored.assignment.epoch === record.epoch
    return follows && !record.syncSet.includes(observation.member) && observation.member !== record.primary
      ? [observation.member]
      : []
  })
}

function addWithoutProof(input: DecisionInput, real: Decide): Decision {
  const honest = real(input)
  const { record } = input
  if (record === undefined || honest.flow !== null || record.syncSet.length + 1 !== record.acks) return honest
  const [joins] = followersOutsideOfS(input, record)
  return joins === undefined
    ? honest
    : withCommit(honest, { ...record, revision: record.revision + 1, syncSet: [...record.syncSet, joins] })
}

function lowerWithoutProof(input: DecisionInput, real: Decide): Decision {
  const honest = real(input)
  const { record } = input
  if (
    record === undefined ||
    honest.flow !== null ||
    record.syncSet.length >= record.acks ||
    record.syncSet.length === 0
  )
    return honest
  return withCommit(honest, {
    ...record,
    revision: record.revision + 1,
    acks: record.syncSet.length,
    acksWanted: record.syncSet.length,
  })
}

function withCommit(decision: Decision, next: ClusterRecord): Decision {
  return { ...decision, actions: [{ kind: 'commit', next, why: 'broken' }] }
}

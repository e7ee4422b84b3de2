import type { Sentence } from '#common/sentence/sentence.ts'
import type { InstanceName, MemberId } from '#topology/snapshot/member.ts'
import type { Findings } from '../protocol/decision.ts'
import type { SwitchoverIntent } from '../protocol/record.ts'
import type { ShownGroup } from '#topology/group/shown-group.ts'
import type { DecisionInput, Follows, LiveView, Situation } from '../judge/situation.ts'
import type { Verdict } from '../judge/primary/verdict.ts'
import type { Decided } from '../steps/step.ts'
import type { FlowStep } from '../steps/step.ts'

/** The member that would take over, or why no member can. */
export type SwitchoverPlan =
  { readonly candidate: MemberId; readonly steps: readonly Sentence[] } | { readonly refusal: Sentence }

/** The leader of a cluster without a record, because a person says so, and what is given up by that. */
export interface ForcedBootstrap {
  readonly leader: LiveView
  /** Instances that are asked to promise. */
  readonly asked: readonly LiveView[]
  /** Nothing is known of what these stored. */
  readonly unknown: readonly InstanceName[]
  /** In words; 'nothing' where the leader holds all that is known, and everybody answers. */
  readonly givenUp: Sentence
}

/** How a mode hands the primary over: what every mode does before an instance goes asks for that. */
export interface Switches {
  /** @param timeoutMs that of the spec unless given */
  planSwitchover(situation: Situation, to: InstanceName | null, timeoutMs?: number): SwitchoverPlan
  beginSwitchover(
    situation: Situation,
    candidate: MemberId,
    request: Pick<SwitchoverIntent, 'request' | 'deadlineWallMs' | 'reason'>,
  ): FlowStep
}

/**
 * What one way of replicating decides and plans. Everybody else asks `modeOf` (`decide.ts`) and knows no mode by name.
 */
export interface Mode extends Switches {
  decide(input: DecisionInput): Decided
  /** What is wrong, by name, for people: nothing that is decided follows from that. */
  analyse(input: DecisionInput): Findings
  /** The replication group as people are shown it. Absent in a mode that has none. */
  groupShown?(input: DecisionInput): ShownGroup | undefined
  /** Whether a server that answers follows as the record wants. */
  readonly follows: Follows
  /** What is known of the primary. */
  judge(situation: Situation): Verdict
  /** Why a person's failover would mend nothing; null where it may begin. */
  whyNothingToMend(situation: Situation): Sentence | null
  /** What a failover does, step by step, for a dry run. */
  stepsOfFailover(situation: Situation, to: InstanceName | null): readonly Sentence[]
  /** Why a failover to this instance cannot end with that instance as primary; null where a failover may. */
  whyNeverTo(situation: Situation, to: InstanceName, acceptLoss: boolean): Sentence | null
  /**
   * What a failover that accepts loss would give up, as far as it is known, in words, for a dry run. Absent: what
   * silent and dead members hold.
   */
  lossOfFailover?(situation: Situation, to: InstanceName | null): Sentence
  /** What cannot be known of what it would give up, where `to` leads as it is. Absent, or null, for nothing. */
  unknownOf?(situation: Situation, to: InstanceName): Sentence | null
  /** Whether a failover needs to give nothing up, as far as that is known before anybody promised. */
  isSafePossible(situation: Situation): boolean
  /** What it means to let `to` lead a cluster without a record, whatever others hold; or why that cannot be. */
  planForcedBootstrap(input: DecisionInput, to: InstanceName): ForcedBootstrap | { readonly refusal: Sentence }
}

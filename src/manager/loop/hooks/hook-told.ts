import { utcMomentOf } from '#common/text/words.ts'
import { instanceOf, type MemberId } from '#topology/snapshot/member.ts'
import type { DecisionInput } from '#failover/judge/situation.ts'
import type { HookDocument, ToldInstance } from '#failover/protocol/hook-document.ts'
import type { Recovery } from '#failover/protocol/notes.ts'
import { keyText, type RunKey } from './hook-ledger.ts'

/** What is told besides what the recovery and the cluster as it is now tell. */
export interface ToldBesides {
  readonly key: RunKey
  readonly recovery: Recovery
  /** The member that is to lead, where none does yet. */
  readonly successor: MemberId | null
  readonly isAsked: boolean
  readonly machine: string
  readonly isTest?: true
}

/** What a hook is told, by what is known as it begins. */
export function toldOf(input: DecisionInput, besides: ToldBesides): HookDocument {
  const { key, recovery, isAsked, machine, isTest = false } = besides
  const { id, kind, outcome, sentence, fromEpoch, toEpoch, analysis, startedWallMs, hooks } = recovery
  const { snapshot, cluster, place, spec } = input
  const failed = toldInstance(input, recovery.from)
  const successor = toldInstance(input, recovery.to ?? besides.successor)
  const others = snapshot.instances.filter(({ name }) => name !== failed?.instance && name !== successor?.instance)
  const isThere = ({ reachable, observation }: (typeof others)[number]) =>
    reachable && observation?.process === 'running'
  return {
    ...{ version: 1, test: isTest, moment: key.moment, key: keyText(key) },
    text: textOf(input, besides, successor),
    cluster,
    ...(place?.kind === 'kubernetes' && { namespace: place.namespace }),
    mode: spec.mode,
    recovery: {
      ...{ id, kind, outcome, sentence, fromEpoch, toEpoch, analysis },
      startedAt: utcMomentOf(startedWallMs),
      failureType: hooks?.failureType ?? '',
    },
    automatic: !isAsked,
    ...{ failed, successor },
    replicas: others.map(asTold),
    lostReplicas: others.filter((one) => !isThere(one)).map(asTold),
    successorGtids: gtidsOf(input, successor),
    manager: machine,
  }
}

function textOf(
  { cluster, place }: DecisionInput,
  { key, recovery, isTest }: ToldBesides,
  successor: ToldInstance | null,
): string {
  const { kind, from, outcome, sentence } = recovery
  const name = place?.kind === 'kubernetes' ? `${place.namespace}/${cluster}` : cluster
  const way = [from === null ? '' : ` from ${instanceOf(from)}`, successor === null ? '' : ` to ${successor.instance}`]
  const ended = outcome === 'running' ? '' : ` ${outcome}`
  const what = key.moment === 'detected' ? 'failure detected' : `${kind}${way.join('')}${ended}`
  return `${isTest ? 'TEST, nothing has happened: ' : ''}${name}: ${what} (${key.moment}): ${sentence}`
}

function toldInstance({ snapshot }: DecisionInput, member: MemberId | null): ToldInstance | null {
  if (member === null) return null
  const view = snapshot.instances.find(({ name }) => name === instanceOf(member))
  return view === undefined ? { instance: instanceOf(member), host: '', port: 0 } : asTold(view)
}

function asTold({ name, host, port }: DecisionInput['snapshot']['instances'][number]): ToldInstance {
  return { instance: name, host, port }
}

function gtidsOf({ snapshot }: DecisionInput, successor: ToldInstance | null): string {
  const view = snapshot.instances.find(({ name }) => name === successor?.instance)
  return view?.observation?.server?.executed ?? ''
}

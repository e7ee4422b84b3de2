import { say, type Sentence } from '#common/sentence/sentence.ts'
import { changedOptions, type StoppedThread } from '#failover/protocol/channel-options.ts'
import type { Channel, ChangedSetting } from '#topology/snapshot/observation.ts'
import { viewOf, type View } from '../instance/pass.ts'
import { learn, type Learner } from '../instance/learn.ts'
import type { Parts } from '../instance/parts.ts'

type ChannelKeeper = Learner & Pick<Parts, 'notices' | 'observer' | 'server' | 'world'>

/** So long a change that has not helped is not made again: it stops a thread. An opening may wait for the applier's. */
const uselessMs: Readonly<Record<StoppedThread, number>> = { applier: 1_000, receiver: 10_000, both: 10_000 }
/** So long one that was refused is not: somebody's statement may have come in between. */
const refusedMs = 1_000
/** What waits until everything is applied is tried so often, and waits so long each time. */
const backlogMs = 2_000
const applyMs = 200

/** Options of this kind are to be put right now: they were not tried just before. */
export function hasDueOptions(
  { guards, nowMs }: Pick<View, 'guards' | 'nowMs'>,
  channel: Channel | null,
  stopped: StoppedThread,
): boolean {
  const changed = changedOptions(channel, stopped)
  const tried = guards.optionsTried.get(stopped)
  return changed.length > 0 && (tried?.what !== textOf(changed) || nowMs >= tried.untilMs)
}

/** What is as it is to be was tried with success: changed again, it is put right at once. */
export function forgetPutRight(to: Learner, channel: Channel | null): void {
  for (const stopped of to.guards.optionsTried.keys())
    if (changedOptions(channel, stopped).length === 0) learn(to, { fact: 'optionsRight', stopped })
}

const why = say`put right once everything received is applied, else that would be thrown away`

/** Resolves to false where it has to wait until everything received is applied. */
type Change = () => Promise<boolean>

/** Makes the change, and says what it was for, or why it was not made. */
export async function putOptionsRight(
  parts: Learner & Pick<Parts, 'notices' | 'observer' | 'world'>,
  channel: Channel | null,
  stopped: StoppedThread,
  change: Change,
): Promise<void> {
  const { notices, observer, world } = parts
  const changed = changedOptions(channel, stopped)
  const what = textOf(changed)
  const retryAfter = (ms: number) =>
    learn(parts, { fact: 'optionsTried', stopped, what, untilMs: world.clock.monotonicMs() + ms })
  try {
    const isDone = await change()
    retryAfter(isDone ? uselessMs[stopped] : backlogMs)
    if (isDone) for (const one of changed) notices.add('ChannelOptionPutRight', sentenceOf(one))
    else notices.add('ChannelOptionWaits', say`${what} by another hand; ${why}`)
  } catch (error) {
    retryAfter(refusedMs)
    notices.failed('ChannelOptionStays', say`${what} by another hand and could not be put right`, error)
    throw error
  } finally {
    observer.outdate()
  }
}

function sentenceOf({ name, seen, wanted }: ChangedSetting): Sentence {
  return say`${name} is ${shown(wanted)} again (by another hand it was ${shown(seen)})`
}

interface OfChannel {
  readonly channel: Channel | null
}

/** A delay, above all: neither a replica that follows nor an opening waits for it. */
export async function keepApplierOptions(parts: Parts, channel: Channel | null): Promise<void> {
  if (hasDueOptions(viewOf(parts, null), channel, 'applier')) await putApplierOptionsRight(parts, { channel })
}

export function putApplierOptionsRight(parts: ChannelKeeper, { channel }: OfChannel): Promise<void> {
  return putOptionsRight(parts, channel, 'applier', () => parts.server.setApplierOptions().then(() => true))
}

/** What is changed with both threads stopped, once nothing can be lost by it. The receiver is stopped afterwards. */
export function putStoppedOptionsRight(parts: ChannelKeeper, { channel }: OfChannel): Promise<void> {
  return putOptionsRight(parts, channel, 'both', () => parts.server.setStoppedOptions(applyMs))
}

function textOf(changed: readonly ChangedSetting[]): string {
  return changed.map(({ name, seen }) => `${name} is ${shown(seen)}`).join(', ')
}

function shown(value: string): string {
  return value === '' ? 'empty' : value
}

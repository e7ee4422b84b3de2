import { say, type Sentence } from '#common/sentence/sentence.ts'
import { lastWritten, roughBytes, type BudgetOptions } from '#controller-runtime/client/namespace-budget.ts'
import { keyOf, keyText } from '#controller-runtime/objects/objects.ts'
import { marks } from './marks.ts'
import type { PodEvent } from './pod-event.ts'

/** An agent's word is a few hundred letters, and a snapshot of a hundred pods some 15,000. */
export const mostLetters = 32_768

/** What the Events of one namespace may take of a manager: those that were written last stay. */
export const eventBudget: BudgetOptions<PodEvent> = { bytesPerNamespace: 4 * 1024 * 1024, rank: lastWritten }

/**
 * The part of an Event that a manager keeps. An Event that is too large is kept by its name alone: a client that may
 * write Events in any namespace may write thousands of more than 1 MB.
 */
export function keptEvent(event: PodEvent): PodEvent {
  const { apiVersion, kind, metadata, involvedObject } = event
  const key = picked(metadata, ['name', 'namespace', 'uid', 'resourceVersion', 'creationTimestamp'])
  const annotations = picked(metadata.annotations ?? {}, [marks.handled])
  const kept: PodEvent = {
    ...{ apiVersion, kind, metadata: { ...key, annotations } },
    ...(involvedObject && { involvedObject: picked(involvedObject, ['kind', 'name', 'uid', 'fieldPath']) }),
    ...picked(event, ['reportingComponent', 'reason', 'message', 'count']),
    ...picked(event, ['eventTime', 'firstTimestamp', 'lastTimestamp']),
  }
  const letters = Math.ceil(roughBytes(kept) / 2)
  return letters <= mostLetters ? kept : { apiVersion, kind, metadata: key, unread: letters }
}

function picked<From extends object, Name extends keyof From>(from: From, names: readonly Name[]): Pick<From, Name> {
  return Object.fromEntries(names.flatMap((name) => (from[name] === undefined ? [] : [[name, from[name]]]))) as Pick<
    From,
    Name
  >
}

/** Why an Event is not read; undefined where it is. */
export function whyUnread(event: PodEvent): Sentence | undefined {
  if (event.unread === undefined) return undefined
  const size = say`is larger than ${mostLetters / 1024} KiB (about ${Math.ceil(event.unread / 1024)} KiB)`
  const cure = say`Find out who writes it, and take the right to create Events from that account`
  return say`Event ${keyText(keyOf(event))} ${size} and is not read: no agent says so much. ${cure}`
}

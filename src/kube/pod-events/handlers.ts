import { reported, say } from '#common/sentence/sentence.ts'
import { unchanged, type PodDecision } from './decision.ts'
import { probeMessageOf } from './messages.ts'
import { isLegacy, type PodEvent } from './pod-event.ts'

/** What an Event is about, in the order in which handlers are asked. */
const topics = ['role', 'task', 'availability'] as const
export type Topic = (typeof topics)[number]

const claims: Readonly<Record<Topic, (event: PodEvent) => boolean>> = {
  role: (event) => isLegacy(event) || event.reason === 'roleProbe',
  task: ({ reason }) => reason === 'task',
  availability: ({ reason }) => reason === 'availableProbe',
}

/** The handler that claims an Event; undefined where none does, and then the Event is left as it is. */
export function topicOf(event: PodEvent): Topic | undefined {
  return topics.find((topic) => claims[topic](event))
}

/**
 * What one pod says of its availability changes nothing by itself: the component is judged by the last word of all its
 * pods, after all its Events were handled.
 */
export function decideWord(event: PodEvent): PodDecision {
  const name = event.involvedObject?.name ?? ''
  const said = probeMessageOf(event)
  if (said === undefined) return unchanged('WordNotUnderstood', say`${name}: its message is no probe's`, 'warning')
  const word = said.code === 0 ? say`succeeded` : say`failed: ${reported(said.message)}`
  return unchanged('WordHeard', say`${name}: its availability probe ${word}`)
}

import { isLegacy, type PodEvent } from './pod-event.ts'

/** What an Event is about, in the order in which handlers are asked. */
export const topics = ['role'] as const
export type Topic = (typeof topics)[number]

const claims: Readonly<Record<Topic, (event: PodEvent) => boolean>> = {
  role: (event) => isLegacy(event) || event.reason === 'roleProbe',
}

/** The handler that claims an Event; undefined where none does, and then the Event is left as it is. */
export function topicOf(event: PodEvent): Topic | undefined {
  return topics.find((topic) => claims[topic](event))
}

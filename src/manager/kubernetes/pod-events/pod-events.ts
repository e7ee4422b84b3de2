import type { Logger } from '#common/log/logger.ts'
import { seldom } from '#common/log/repeats.ts'
import type { Clock, World } from '#common/ports/ports.ts'
import { retryOnConflict } from '#controller-runtime/changes/conflict-retry.ts'
import { isNotFound } from '#controller-runtime/client/kube-api-error.ts'
import type { KubeClient } from '#controller-runtime/client/kube-client.ts'
import { watchMapped, type Source } from '#controller-runtime/controller/controller-sources.ts'
import type { Reconcile } from '#controller-runtime/controller/controller.ts'
import type { Predicate } from '#controller-runtime/controller/predicates.ts'
import type { EventRecorder } from '#controller-runtime/events/event-recorder.ts'
import { LruMap } from '#controller-runtime/events/lru-map.ts'
import type { Informer } from '#controller-runtime/informers/informer.ts'
import type { InformerSet } from '#controller-runtime/informers/informer-set.ts'
import { keyOf, keyText, type KubeObject, type ObjectKey } from '#controller-runtime/objects/objects.ts'
import { within, type PodDecision } from '#kube/pod-events/decision.ts'
import { topicOf, type Topic } from '#kube/pod-events/handlers.ts'
import { eventBudget, keptEvent, whyUnread } from '#kube/pod-events/kept-event.ts'
import { componentOf } from '#kube/pod-events/messages.ts'
import {
  handledPatch,
  happenedMicros,
  isHandled,
  isOfAgent,
  podEvents,
  selections,
  type PodEvent,
} from '#kube/pod-events/pod-event.ts'
import { pods } from '#kube/pods/stateful-set.ts'
import { AvailabilityKeeper } from './availability-keeper.ts'
import { podEventHandlers } from './pod-event-handlers.ts'
import { Turns } from './turns.ts'

export interface PodEventParts {
  /** Writes only while this manager leads. */
  readonly client: KubeClient
  /** As that client hears the API server's. */
  readonly serverClock: Pick<Clock, 'wallMs'>
  readonly world: World
  readonly log: Logger
  readonly informers: InformerSet
  readonly recorder: Pick<EventRecorder, 'record'>
  readonly leads: () => boolean
}

export interface PodEventPipeline {
  readonly sources: readonly Source[]
  readonly reconcile: Reconcile
}

/** The last word on so many pods is remembered, so that the same is not told again. */
const mostTold = 4_096
/** So many Events of a component are handled in one run: those of other components come in between. */
export const mostInARun = 32
/** A word that ends in a moment is not waited for in a loop. */
const soonestMs = 50
const byComponent = 'component'

const isOurs = (event: PodEvent): boolean => isOfAgent(event) && topicOf(event) !== undefined
/** A repeat, or what is new; not that an Event was marked as handled. At a start all pass. */
const unhandled: Predicate<PodEvent> = {
  added: isOurs,
  updated: (_before, after) => isOurs(after) && !isHandled(after),
  deleted: () => false,
}

/**
 * Handles what agents say of their pods in Events. A run is for one component, so that what is said of its pods is
 * handled one after the other: two pods that claim one role at once are never looked at side by side.
 */
export function podEventPipeline(parts: PodEventParts): PodEventPipeline {
  const { client, serverClock, world, log, informers, recorder, leads } = parts
  const watched = Object.values(selections).map((selection) =>
    informers.of(podEvents, {
      ...selection,
      keep: keptEvent,
      budget: eventBudget,
      indexes: { [byComponent]: (event) => [keyText(componentKey(event))] },
    }),
  )
  const warn = seldom(world.clock, (line) => log.warn(line))
  const sayUnread = (event: PodEvent): void => {
    const why = whyUnread(event)
    if (why !== undefined) warn(why)
  }
  for (const informer of watched)
    informer.addHandler({ added: sayUnread, updated: (_before, after) => sayUnread(after) })
  const handlers = podEventHandlers(client, serverClock)
  const availability = new AvailabilityKeeper(client, world.clock)
  /** Handled, while the cache has not heard of the mark yet. */
  const handled = new WeakSet<PodEvent>()
  const told = new LruMap<string, string>(mostTold)
  const turns = new Turns<PodEvent>(mostInARun)

  /** All that the API server still has of a component. */
  function eventsOf(key: ObjectKey): readonly PodEvent[] {
    const all = watched.flatMap((informer: Informer<PodEvent>) => informer.byIndex(byComponent, keyText(key)))
    return [...new Map(all.filter(isOfAgent).map((event) => [event.metadata.name, event])).values()]
  }

  function tell(regarding: KubeObject, topic: Topic, { weight, reason, sentence }: PodDecision): void {
    const { namespace = '', uid = '' } = regarding.metadata
    const about = `${uid} ${topic}`
    const isNews = weight === 'news' || (weight !== 'routine' && told.get(about) !== sentence.news)
    told.set(about, sentence.news)
    const note = String(sentence)
    const line = `${namespace}: ${note}`
    if (!isNews) return log.debug(line)
    log[weight === 'warning' ? 'warn' : 'info'](line)
    if (weight === 'notice') return
    const type = weight === 'warning' ? 'Warning' : 'Normal'
    recorder.record({ regarding, type, reason, action: 'HandleEvent', note })
  }

  /** Changes what is to change in that namespace, and nothing elsewhere. @returns what was decided in the end */
  async function carryOut(namespace: string, decided: PodDecision, signal: AbortSignal): Promise<PodDecision> {
    const decision = within(namespace, decided)
    for (const { resource, key, patch } of decision.changes)
      await unlessGone(client.patch(resource, key, patch, { signal }))
    return decision
  }

  /** @returns after which time the Event is to be looked at again, in milliseconds; undefined where it is handled */
  async function handle(event: PodEvent, topic: Topic, signal: AbortSignal): Promise<number | undefined> {
    const { namespace } = keyOf(event)
    // Anew where somebody else was faster.
    const decide = async () => carryOut(namespace, await handlers[topic](event, signal), signal)
    const decision = await retryOnConflict(world, decide, { signal })
    tell(podOf(event), topic, decision)
    if (decision.againAfterMs !== undefined) return decision.againAfterMs
    await unlessGone(client.patch(podEvents, keyOf(event), handledPatch(event, topic === 'role'), { signal }))
    handled.add(event)
    return undefined
  }

  async function judge(key: ObjectKey, signal: AbortSignal): Promise<number | undefined> {
    // Older agents know of no availability, and name no component.
    if (key.name === '') return undefined
    const decide = async () => {
      const found = await availability.judge(key, eventsOf(key), signal)
      return found && { ...found, decision: await carryOut(key.namespace, found.decision, signal) }
    }
    const judged = await retryOnConflict(world, decide, { signal })
    if (judged !== undefined) tell(judged.owner, 'availability', judged.decision)
    return judged?.decision.againAfterMs
  }

  async function reconcile(key: ObjectKey, signal: AbortSignal): Promise<{ requeueAfterMs?: number }> {
    if (!leads()) return {}
    const open = inOrder(eventsOf(key).filter((event) => !isHandled(event) && !handled.has(event)))
    const turn = turns.next(keyText(key), open)
    const steps = turn.flatMap((event) => {
      const topic = topicOf(event)
      return topic === undefined ? [] : [() => handle(event, topic, signal)]
    })
    const again = turn.length < open.length ? [soonestMs] : []
    const failures: unknown[] = []
    for (const step of [...steps, () => judge(key, signal)]) {
      try {
        again.push((await step()) ?? Infinity)
      } catch (error) {
        signal.throwIfAborted()
        failures.push(error)
      }
    }
    turns.over(keyText(key), turn.filter((event) => !handled.has(event)).length)
    // The others are handled, and marked: a run that is tried again finds what failed alone.
    if (failures.length > 0) throw failures[0]
    const afterMs = Math.min(...again)
    return afterMs === Infinity ? {} : { requeueAfterMs: Math.max(afterMs, soonestMs) }
  }

  const sources = watched.map((informer) => watchMapped(informer, (event) => [componentKey(event)], unhandled))
  return { sources, reconcile }
}

/** Events of older agents name no component: all of one namespace have one key. */
function componentKey(event: PodEvent): ObjectKey {
  return { namespace: event.metadata.namespace ?? '', name: componentOf(event) }
}

/**
 * The newest role first: what is older is then stale, and nobody sees a label that is outdated already. All else in
 * the order of time, since the end of a task follows its progress.
 */
function inOrder(events: readonly PodEvent[]): readonly PodEvent[] {
  const roles = events.filter((event) => topicOf(event) === 'role')
  const others = events.filter((event) => topicOf(event) !== 'role')
  return [...roles.sort(byTime).reverse(), ...others.sort(byTime)]
}

function byTime(one: PodEvent, other: PodEvent): number {
  return Number(happenedMicros(one) - happenedMicros(other))
}

function podOf({ metadata, involvedObject }: PodEvent): KubeObject {
  const { namespace } = metadata
  const { name = '', uid } = involvedObject ?? {}
  return {
    apiVersion: 'v1',
    kind: pods.kind,
    metadata: { name, ...(namespace !== undefined && { namespace }), ...(uid !== undefined && { uid }) },
  }
}

/** What is gone meanwhile needs no change. */
async function unlessGone(change: Promise<unknown>): Promise<void> {
  await change.catch((error: unknown) => {
    if (!isNotFound(error)) throw error
  })
}

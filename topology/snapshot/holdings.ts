import { GtidSet, parseGtidSet } from '../gtid/gtid-set.ts'
import type { Observation, ServerState } from './observation.ts'
import type { GtidText } from './gtid-text.ts'

/** Everything an instance has, executed, received or waiting for an acknowledgement, as far as it was seen. */
export function holdsOf(seen: Pick<Observation, 'promiseReport' | 'server' | 'binlogSet'>): GtidSet {
  if (seen.promiseReport !== null) return parseGtidSet(seen.promiseReport.holds)
  return unionOf([seen.server?.executed, seen.server?.received, seen.server?.owned, seen.binlogSet])
}

/** What a server received and has not executed. */
export function unappliedOf({ received, executed }: Pick<ServerState, 'received' | 'executed'>): GtidSet {
  return received === '' ? GtidSet.empty : parseGtidSet(received).subtract(parseGtidSet(executed))
}

/** Everything in these sets as texts; what is not known adds nothing. */
export function unionOf(texts: readonly (GtidText | null | undefined)[]): GtidSet {
  return texts.reduce<GtidSet>((all, text) => (text ? all.union(parseGtidSet(text)) : all), GtidSet.empty)
}

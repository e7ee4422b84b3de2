import { farFamilies } from './far/families.ts'
import { routerFamilies } from './routers/families.ts'
import { groupFamilies } from './group/families.ts'

export interface Shape {
  /** How the cluster replicates; semisync unless given. */
  readonly mode?: 'async' | 'group'
  readonly kinds: readonly string[]
  /** Sizes of clusters, as often as named. */
  readonly instances: readonly number[]
  /** k; as the size wants unless given. */
  readonly acks?: number
  /** What is lost is accepted ahead of time; or whether and within what, that is drawn. */
  readonly acceptsLoss?: true | 'drawn'
  /** The servers are far from their agents. */
  readonly far?: true
  /** How long things go wrong, at least. */
  readonly lastsMs?: number
  /** One of these is drawn instead, and strikes come in the first half of that. */
  readonly lastsOneOfMs?: readonly number[]
  /** How often a request arrives a second time. */
  readonly repeats?: number
  /** So many routers are in front of the cluster. */
  readonly routers?: number
  /** The last instance is preferred, and leads again once all has been well for a moment. */
  readonly goesBack?: true
  /** Clients give what they write GTIDs of another server. */
  readonly writesAbroad?: boolean
}

const falls = [
  'the primary falls, and others are struck at their steps',
  'the primary falls, and so does the elected one',
]
const askedFor = 'a switchover is asked for'
const struck = 'a switchover is asked for, and others are struck at their steps'

/** Kinds of faults that meet each other, and the clusters where that matters. */
export const families = {
  /** Agents end at every step, and what they write is torn. */
  deaths: {
    kinds: ['the agent dies at a disk write', 'somebody is struck at a step', askedFor, ...falls],
    instances: [3],
  },
  failovers: { kinds: [...falls, ...falls, 'the network is slow', 'agent and mysqld die'], instances: [3, 3, 3, 4, 5] },
  /** Nobody but the primary knows what was acknowledged. */
  unprotected: {
    kinds: [askedFor, 'the applier stands still', 'the network is slow', ...falls],
    instances: [3],
    acks: 0,
  },
  /** Switchovers that nobody asks for, in between. */
  failbacks: {
    kinds: [askedFor, struck, 'the network is slow', ...falls],
    instances: [3, 3, 4, 5],
    lastsMs: 8_000,
    goesBack: true,
  },
  switchovers: {
    kinds: [struck, askedFor, 'a switchover is asked for, and somebody dies at a disk write', 'the network is slow'],
    instances: [3, 3, 4, 5],
  },
  gatherings: {
    kinds: ['a switchover is asked for, and the gathered are struck', struck, 'the network is slow'],
    instances: [3, 4, 5, 5],
  },
  /** Orders and words that come late, or again. */
  messages: {
    kinds: [
      'the network is slow',
      'both managers believe that they lead',
      'the machine crashes',
      'the agent dies',
      ...falls,
    ],
    instances: [3],
    repeats: 0.4,
  },
  crashes: {
    kinds: [
      'a replica that lags loses its power',
      'a replica that lags loses its power',
      'the network is slow',
      ...falls,
    ],
    instances: [3, 3, 4, 5],
  },
  /** A primary comes back where it was. */
  restarts: {
    kinds: ['the replicas are gone, and then the primary dies', 'mysqld is killed', 'the agent dies'],
    instances: [2, 2, 3],
  },
  stops: {
    kinds: [
      'a stranger stops mysqld while replicas lag',
      'a stranger stops mysqld',
      'the agent dies',
      'mysqld freezes',
    ],
    instances: [2, 3, 3, 4],
  },
  appliers: {
    kinds: ['the applier stands still', 'the applier stands still', 'the network is slow', ...falls],
    instances: [3, 3, 5],
  },
  /** The sync set shrinks and grows. */
  members: {
    kinds: [
      'mysqld freezes',
      'the network is cut',
      'agent and mysqld die',
      'the machine is paused',
      'the network is slow',
    ],
    instances: [3, 4, 5, 5],
    lastsMs: 8_000,
  },
  seedings: {
    kinds: ['somebody writes on a replica', 'somebody writes on a replica', 'the agent dies', askedFor, ...falls],
    instances: [3, 4],
    lastsMs: 8_000,
  },
  /** Who holds what is told by GTIDs that are nobody's. */
  abroad: {
    kinds: ['somebody writes on a replica', 'the network is slow', 'the agent dies', askedFor, ...falls],
    instances: [2, 3, 3, 4],
    lastsMs: 6_000,
    writesAbroad: true,
  },
  volumes: {
    kinds: [
      'the volume goes back in time',
      'the volume goes back in time',
      'the volume is lost',
      'the agent dies',
      ...falls,
    ],
    instances: [3, 3, 4],
    lastsMs: 6_000,
  },
  hands: {
    kinds: [
      'somebody switches acknowledgements off',
      'somebody throws away what is received',
      'somebody resets the GTIDs of a replica',
      'somebody makes a replica writable',
      'the applier stands still',
      ...falls,
    ],
    instances: [3, 4],
  },
  /** Whose transactions are whose, by `server_id`. */
  numbers: {
    kinds: [
      'somebody writes at the primary with the server_id of a replica',
      'the volume is lost',
      'the volume is lost',
      askedFor,
      askedFor,
      ...falls,
    ],
    instances: [2, 3, 3, 4],
    lastsMs: 8_000,
  },
  cuts: {
    kinds: ['the primary is cut off for longer than a lease', 'a manager dies'],
    instances: [2, 3, 3, 4],
    lastsMs: 12_000,
  },
  /** Nobody acknowledges: what the dead primary alone has is fetched from its volume. */
  async: {
    mode: 'async',
    kinds: [
      askedFor,
      struck,
      'the applier stands still',
      'the network is slow',
      'agent and mysqld die',
      'the agent dies',
      'mysqld freezes',
      'the network is cut',
      ...falls,
      ...falls,
    ],
    instances: [2, 3, 3, 3, 4],
    lastsMs: 4_000,
  },
  /** And a replica may lead once the lease of a primary that nobody hears has run out. */
  leases: {
    mode: 'async',
    kinds: [
      'the primary is cut off for longer than a lease',
      'the primary is cut off for longer than a lease',
      'the network is slow',
      'a manager dies',
      'mysqld freezes',
      ...falls,
    ],
    instances: [2, 3, 3, 4],
    lastsMs: 12_000,
    acceptsLoss: true,
  },
  lostRecords: {
    kinds: [
      ...['the record is lost', 'the record is lost', 'the record is lost', askedFor, struck, 'a manager dies'],
      ...[...falls, 'agent and mysqld die', 'the agent dies', 'both managers believe that they lead'],
    ],
    instances: [1, 2, 3, 3, 3, 4, 5],
    lastsMs: 8_000,
  },
  ...farFamilies,
  ...routerFamilies,
  ...groupFamilies,
  managers: {
    kinds: [
      'both managers believe that they lead',
      'a manager freezes',
      'requests reach the store late',
      'answers of the store are late or lost',
      'the manager is struck at a step',
      ...falls,
    ],
    instances: [3, 3, 5],
  },
} as const satisfies Readonly<Record<string, Shape>>

export type Family = keyof typeof families

export function shapeOf(family: Family): Shape {
  return families[family]
}

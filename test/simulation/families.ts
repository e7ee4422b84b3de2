interface Shape {
  readonly kinds: readonly string[]
  /** Sizes of clusters, as often as named. */
  readonly instances: readonly number[]
}

const falls = [
  'the primary falls, and others are struck at their steps',
  'the primary falls, and so does the elected one',
]

/** Kinds of faults that meet each other, and the clusters where that matters. */
export const families = {
  /** Agents end at every step, and what they write is torn. */
  deaths: {
    kinds: ['the agent dies at a disk write', 'somebody is struck at a step', 'a switchover is asked for', ...falls],
    instances: [3],
  },
  failovers: { kinds: [...falls, ...falls, 'the network is slow', 'agent and mysqld die'], instances: [3, 3, 3, 4, 5] },
  switchovers: {
    kinds: [
      'a switchover is asked for, and others are struck at their steps',
      'a switchover is asked for',
      'a switchover is asked for, and somebody dies at a disk write',
      'the network is slow',
      'mysqld freezes',
    ],
    instances: [3, 3, 4, 5],
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
  },
  crashes: {
    kinds: ['the machine crashes', 'the machine crashes', 'the network is slow', 'a switchover is asked for', ...falls],
    instances: [3, 3, 4, 5],
  },
  /** A primary comes back where it was. */
  restarts: {
    kinds: ['mysqld is killed', 'agent and mysqld die', 'the agent dies', 'the machine crashes', 'the network is cut'],
    instances: [2, 2, 3],
  },
  stops: {
    kinds: [
      'a stranger stops mysqld',
      'a stranger stops mysqld',
      'the agent dies',
      'the network is cut',
      'a manager dies',
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
  },
  seedings: {
    kinds: [
      'a stranger stops mysqld',
      'the network is cut',
      'agent and mysqld die',
      'somebody is struck at a step',
      ...falls,
    ],
    instances: [3],
  },
  cuts: {
    kinds: ['the network is cut', 'the network is cut', 'a manager dies', 'the machine is paused'],
    instances: [2, 3, 3],
  },
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

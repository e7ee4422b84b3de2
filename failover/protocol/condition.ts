/**
 * What a cluster is in, by name. Each mode finds that first, and what is done follows from that alone.
 * docs/why/conditions.md has a row for each.
 */
export const conditions = [
  'storeAway',
  'nobodyAnswers',
  'noRecord',
  'recordInDoubt',
  'forming',
  'failoverAsked',
  'splitBrain',
  'noQuorum',
  'outage',
  'uncertain',
  'noPrimary',
  'primaryMoved',
  'primaryToBeStarted',
  'failoverHeld',
  'primaryDead',
  'primaryFrozen',
  'primaryUnable',
  'primarySlow',
  'primaryDeaf',
  'intentLeft',
  'switchingOver',
  'promisedInVain',
  'switchoverAsked',
  'paused',
  'viewUnknown',
  'primaryStarting',
  'primaryUnsure',
  'primaryOpening',
  'membersMissing',
  'primaryWell',
] as const

export type Condition = (typeof conditions)[number]

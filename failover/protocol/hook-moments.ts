/** Every moment, and what happens then. */
export const hookMoments = {
  detected: 'A failure of the primary is detected. They run beside what is done.',
  beforeFailover: 'Before a failover begins, which waits for them.',
  powerOff:
    'Before a failover that accepts a loss ahead of time leads to another server. Success is the proof that ' +
    'the lost primary is off; without that proof nobody leads.',
  afterFailover: 'A new primary takes writes. They run beside everything else.',
  beforeSwitchover: 'Before a switchover begins, which waits for them.',
  afterSwitchover: 'A new primary takes writes. They run beside everything else.',
  failed: 'A failover or a switchover could not be done, or was undone. They run beside everything else.',
} as const

export type HookMoment = keyof typeof hookMoments
export const momentNames = Object.keys(hookMoments) as readonly HookMoment[]

/** A failover or a switchover waits for these. */
export const waitedFor: readonly HookMoment[] = ['beforeFailover', 'powerOff', 'beforeSwitchover']

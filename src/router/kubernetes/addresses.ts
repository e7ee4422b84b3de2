/** What is known of the address of one instance. */
export interface KnownAddresses {
  /** The one that is followed now; '' for none. */
  readonly now: string
  /** What a manager said last; '' for nothing. */
  readonly byManager: string
  /** What the pod's name leads to; '' where nobody answers that. */
  readonly byName: string
}

/**
 * Where the agent of an instance that is not heard is looked for next. A pod that was made anew has another address,
 * and each of the two who know may be late: so they are tried in turn.
 */
export function nextAddress({ now, byManager, byName }: KnownAddresses): string {
  const others = [byName, byManager].filter((address) => address !== '' && address !== now)
  return others[0] ?? now
}

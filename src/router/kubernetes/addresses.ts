/** The known addresses of one instance. */
export interface KnownAddresses {
  /** The address in use; '' for none. */
  readonly now: string
  /** The last address that a manager told; '' for none. */
  readonly byManager: string
  /** The address that the pod's name leads to; '' where no name server answers. */
  readonly byName: string
}

/**
 * The next address at which to look for an agent that is not heard. A pod that was made anew has another address. The
 * manager and the name server may each be late: so their addresses are tried in turn.
 */
export function nextAddress({ now, byManager, byName }: KnownAddresses): string {
  const others = [byName, byManager].filter((address) => address !== '' && address !== now)
  return others[0] ?? now
}

/**
 * Where a member of a replication group listens for the others. The plugin takes only an address that an interface of
 * this machine has ("There is no local IP address matching the one configured for the local node"): of the loopback
 * network that is 127.0.0.1 alone.
 */
export function groupHost(host: string): string {
  return host.startsWith('127.') ? '127.0.0.1' : host
}

/**
 * `host:port` as `group_replication_local_address` and `group_replication_group_seeds` want it; an address of IPv6 in
 * brackets.
 */
export function groupAddress({ host, port }: { readonly host: string; readonly port: number }): string {
  const named = groupHost(host)
  return named.includes(':') ? `[${named}]:${port}` : `${named}:${port}`
}

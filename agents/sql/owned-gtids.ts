/**
 * `@@global.gtid_owned` is printed as `uuid:number#thread:number#thread, uuid:…`: transactions that have a GTID and are
 * not committed, with the thread that owns each (manual, "gtid_owned"). As a GTID set, it has no threads.
 */
export function ownedSet(printed: string): string {
  return printed.replace(/#\d+/g, '').replace(/\s+/g, '')
}

/** How many transactions are owned. */
export function ownedCount(printed: string): number {
  return printed.match(/#\d+/g)?.length ?? 0
}

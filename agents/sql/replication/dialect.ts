/** Statements whose names changed between the versions that are supported (≥ 8.0.26). */
export interface Dialect {
  /** Shows the newest binlog file; `performance_schema.log_status` would say it too, but waits for commits. */
  readonly showBinlog: string
  /**
   * Has a replication group make another member primary. Since 8.0.29 sessions that hold that up are ended after
   * `graceSeconds`.
   * @param uuid as an SQL literal
   */
  readonly electPrimary: (uuid: string, graceSeconds: number) => string
}

/** @param version as `@@version` says it, for example `9.7.4-2` */
export function dialectOf(version: string): Dialect {
  const [major = 0, minor = 0, patch = 0] = version.split(/[.-]/).map(Number)
  const isSince = (...[atMajor, atMinor, atPatch]: readonly [number, number, number]): boolean =>
    major !== atMajor ? major > atMajor : minor !== atMinor ? minor > atMinor : patch >= atPatch
  return {
    showBinlog: isSince(8, 2, 0) ? 'SHOW BINARY LOG STATUS' : 'SHOW MASTER STATUS',
    electPrimary: (uuid, graceSeconds) =>
      `SELECT group_replication_set_as_primary(${uuid}${isSince(8, 0, 29) ? `, ${graceSeconds}` : ''})`,
  }
}

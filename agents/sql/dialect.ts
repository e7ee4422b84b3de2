/** Statements whose names changed between the versions that are supported (≥ 8.0.26). */
export interface Dialect {
  /** Shows the newest binlog file; `performance_schema.log_status` would say it too, but waits for commits. */
  readonly showBinlog: string
}

/** @param version as `@@version` says it, for example `9.7.4-2` */
export function dialectOf(version: string): Dialect {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const renamed = major > 8 || (major === 8 && minor >= 2)
  return { showBinlog: renamed ? 'SHOW BINARY LOG STATUS' : 'SHOW MASTER STATUS' }
}

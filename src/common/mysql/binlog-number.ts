/** The number in the name of a binlog, or of a path to one: 7 of `mysql-bin.000007`; 0 where the name has none. */
export function binlogNumberIn(name: string): number {
  return Number(/\.(\d+)$/.exec(name)?.[1] ?? 0)
}

/** Rights that `SHOW GRANTS` shows for everything. */
export function heldRights(grants: readonly string[]): ReadonlySet<string> {
  const everywhere = grants.flatMap((line) => /^GRANT (.+) ON \*\.\* TO /.exec(line)?.[1]?.split(',') ?? [])
  return new Set(everywhere.map((right) => right.trim()))
}

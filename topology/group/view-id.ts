/**
 * `VIEW_ID` is `<fixed>:<number>`. `fixed` is the time at which the group was formed (100 ns); the number grows with
 * each view of that group.
 */
export function compareViews(one: string, other: string): number {
  const [a, b] = [partsOf(one), partsOf(other)]
  const difference = a.fixed === b.fixed ? a.number - b.number : a.fixed - b.fixed
  return difference === 0n ? 0 : difference > 0n ? 1 : -1
}

/** A view of the same group as `viewId`, and newer. */
export function isLaterView(other: string, viewId: string): boolean {
  return partsOf(other).fixed === partsOf(viewId).fixed && compareViews(other, viewId) > 0
}

/** Both are known, and of groups that were formed at different times. */
export function isOfAnotherGroup(one: string, other: string): boolean {
  const [a, b] = [partsOf(one).fixed, partsOf(other).fixed]
  return a !== 0n && b !== 0n && a !== b
}

function partsOf(viewId: string): { readonly fixed: bigint; readonly number: bigint } {
  const [, fixed = '0', number = '0'] = /^(\d+):(\d+)$/.exec(viewId) ?? []
  return { fixed: BigInt(fixed), number: BigInt(number) }
}

import type { InstanceName } from '#topology/snapshot/member.ts'

/** What a person said of an instance, and what ends by itself. */
interface Said {
  readonly instance: InstanceName
  readonly untilWallMs: number
}

/** What still holds. */
export function heldAt<Kind extends Said>(said: readonly Kind[] | undefined, wallMs: number): readonly Kind[] {
  return (said ?? []).filter(({ untilWallMs }) => untilWallMs > wallMs)
}

/** What still holds of other instances: what is said now takes the place of what was said before. */
export function heldOfOthers<Kind extends Said>(
  said: readonly Kind[] | undefined,
  instance: InstanceName,
  wallMs: number,
): readonly Kind[] {
  return heldAt(said, wallMs).filter((each) => each.instance !== instance)
}

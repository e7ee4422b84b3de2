import { GtidSet } from '#topology/gtid/gtid-set.ts'

/** The sources of the transactions in a set: `uuid`, `uuid:tag`. */
function sourcesOf(set: GtidSet): readonly string[] {
  if (set.isEmpty()) return []
  return set
    .toString()
    .split(',')
    .flatMap((ofUuid) => {
      const [uuid = '', ...parts] = ofUuid.split(':')
      const tags = parts.filter((part) => !/^\d/.test(part)).map((tag) => `${uuid}:${tag}`)
      return /^\d/.test(parts[0] ?? '') ? [uuid, ...tags] : tags
    })
}

/** All that the sources of `set` can have committed up to their last transactions in the set. */
export function upToLast(set: GtidSet): GtidSet {
  return GtidSet.parse(
    sourcesOf(set)
      .map((source) => `${source}:1-${set.last(source)}`)
      .join(','),
  )
}

/** Whether one of the sources of `wanted` has a later transaction in `set`. */
export function goesBeyond(set: GtidSet, wanted: GtidSet): boolean {
  return sourcesOf(wanted).some((source) => set.last(source) > wanted.last(source))
}

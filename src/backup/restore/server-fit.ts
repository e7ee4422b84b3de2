import { say, type Said } from '#common/sentence/sentence.ts'

type Version = readonly [major: number, minor: number, patch: number]

/**
 * The minor version of the last LTS of a major version: the next major version opens data of no other minor version.
 */
const lastLts: Readonly<Record<number, number>> = { 8: 4, 9: 7 }

/** `9.7.4` out of a server's version such as `9.7.4-2`; '' for a server that has told none. */
export function releaseOf(version: string): string {
  return /^\d+\.\d+\.\d+/.exec(version)?.[0] ?? ''
}

/**
 * Why a server cannot open the files of a backup; '' where the server can. An older server opens no data of a newer
 * server. A newer server steps over no LTS (manual, "Upgrade Paths").
 */
export function whyNotForServer(backup: string, backupVersion: string, serverVersion: string): Said {
  const [from, to] = [parse(backupVersion), parse(serverVersion)]
  if (compare(to, from) < 0)
    return say`backup ${backup} is of MySQL ${backupVersion}, which MySQL ${serverVersion} is too old for: restore with MySQL ${backupVersion} or newer`
  if (to[0] === from[0]) return ''
  const lts = lastLts[from[0]]
  if (to[0] === from[0] + 1 && (lts === undefined || from[1] >= lts)) return ''
  return say`backup ${backup} is of MySQL ${backupVersion}, which MySQL ${serverVersion} cannot upgrade: restore with MySQL ${from[0]}.${lts ?? from[1]}, and upgrade then`
}

function parse(version: string): Version {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number)
  return [major, minor, patch]
}

function compare(one: Version, other: Version): number {
  return one[0] - other[0] || one[1] - other[1] || one[2] - other[2]
}

/**
 * How much an instance keeps of what it archived, unless its cluster's spec says otherwise. Also what an agent takes
 * whose file does not say it: a file may leave it out.
 */
export const defaultArchiveBytes = 4_294_967_296

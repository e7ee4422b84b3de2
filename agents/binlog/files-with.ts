import type { GtidSet } from '#topology/gtid/gtid-set.ts'
import { readBinlogHead, type BinlogHead } from './set.ts'

export interface FileWith extends BinlogHead {
  readonly path: string
  /** The wanted transactions that this file can have. */
  readonly mayHave: GtidSet
}

/**
 * The files that may have some of these transactions, of one kind, oldest first. What a file has lies between its own
 * Previous_gtids and the next file's.
 */
export async function filesThatMayHave(paths: readonly string[], wanted: GtidSet): Promise<readonly FileWith[]> {
  const heads: (BinlogHead & { readonly path: string })[] = []
  for (const path of paths) heads.push({ path, ...(await readBinlogHead(path)) })
  return heads.flatMap((head, index) => {
    const next = heads[index + 1]
    const here = wanted.subtract(head.previous)
    const mayHave = next === undefined ? here : here.intersect(next.previous)
    return mayHave.isEmpty() ? [] : [{ ...head, mayHave }]
  })
}

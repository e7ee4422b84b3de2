import { whyNotOwner } from '#backup/objects/owner.ts'
import { lineageOf } from '#backup/keys/lineage.ts'
import { ownerOf } from '#backup/transfer/stored-owner.ts'
import { codeOf, RegentError } from '#common/errors/errors.ts'
import { say, text } from '#common/sentence/sentence.ts'
import { findCluster } from '#local/clusters/cluster-index.ts'
import { readSecret } from '#local/folder/secrets.ts'
import { layoutOf } from '#local/folder/state-layout.ts'
import type { ObjectStore } from '#object-store/object-store.ts'

/** Whose backups a person wants to delete. */
export interface Claim {
  /** Undefined for the only one that runs here. */
  readonly wanted: string | undefined
  /** As the person says. */
  readonly lineage: string | undefined
  /** Folder of the cluster in the store. */
  readonly folder: string
}

/**
 * Throws `REGENT_REFUSED` unless the folder in the store is that of the cluster that is meant: the one of that name
 * here, or the one whose lineage the person says. A name alone is not enough where nobody here knows the cluster.
 */
export async function requireOwn(store: Pick<ObjectStore, 'address' | 'get'>, claim: Claim): Promise<void> {
  const { folder, wanted } = claim
  const lineage = claim.lineage ?? (await lineageHere(wanted))
  if (lineage === undefined)
    throw new RegentError(
      'REGENT_REFUSED',
      say`cluster ${folder} does not run here: name its lineage with --lineage, as "regent backup show" says. Its own agents delete what its retention leaves`,
      { remedy: '' },
    )
  const owner = await ownerOf(store, folder)
  const why =
    owner === null
      ? say`nobody has claimed folder ${folder}/ of store ${text(store.address)}: whose backups these are is not known`
      : whyNotOwner(owner, folder, lineage)
  if (why !== '') throw new RegentError('REGENT_REFUSED', say`nothing is deleted: ${why}`, { remedy: '' })
}

/** Undefined where no such cluster is here. */
async function lineageHere(wanted: string | undefined): Promise<string | undefined> {
  const found = await findCluster(wanted).catch((error: unknown) => {
    if (codeOf(error) !== 'REGENT_NOT_FOUND') throw error
    return undefined
  })
  return found && lineageOf(await readSecret(layoutOf(found.dir).accountSecret))
}

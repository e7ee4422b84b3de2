import { RegentError } from '#common/errors/errors.ts'
import { onlyKnown } from '#common/input/only-known.ts'
import { complaintAbout } from '#common/input/schema-complaint.ts'
import { reported, say } from '#common/sentence/sentence.ts'
import { routerFileShape, type RouterFile } from '#kube/router/router-file.ts'
import { refuseNewer } from '#local/files/file-version.ts'
import { readJson } from '#local/files/input-file.ts'

/**
 * The file of a router's ConfigMap. Throws `REGENT_BAD_FILE`, or what stands in the way of reading. While Regent is
 * upgraded the file is that of a newer manager: a setting that this router does not know must not keep the router from
 * the managers, nor from starting again.
 */
export async function readRouterFile(path: string): Promise<RouterFile> {
  const what = say`the file given with --config`
  const said = await readJson(path, what)
  refuseNewer(path, said, 1)
  const known = onlyKnown(routerFileShape, said)
  const complaint = complaintAbout(routerFileShape, known)
  if (complaint !== undefined) throw new RegentError('REGENT_BAD_FILE', say`${what}, ${path}: ${reported(complaint)}`)
  return known as RouterFile
}

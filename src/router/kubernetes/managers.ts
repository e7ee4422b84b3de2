import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { RegentError } from '#common/errors/errors.ts'
import { readTokenFile } from '#common/http/bearer-token.ts'
import { say } from '#common/sentence/sentence.ts'
import { ApiReader } from '#cli/connection/api-reader.ts'
import { manager } from '#kube/names/manager-names.ts'
import { askManager } from '../ask-manager.ts'

export interface ManagersParts {
  /** Address of the managers' API, read anew each time. */
  readonly url: () => Promise<string>
  /** The folder with the certificate of the managers' authority, as a ConfigMap is mounted. */
  readonly folder: string
  readonly tokenFile: string
}

/**
 * Each call opens a way to the managers by the files of that moment. A router that is refused, as by a certificate of a
 * replaced authority, calls again. The router then trusts the authority in the file, and no other. A manager lets a
 * caller with the token of a cluster's agents watch that cluster, and gives that caller nothing else.
 */
export function managersOf({ url, folder, tokenFile }: ManagersParts): () => Promise<ApiReader> {
  return async () => {
    const ca = await authorityIn(join(folder, manager.caKey))
    return new ApiReader({
      url: await url(),
      token: await readTokenFile(tokenFile),
      fetch: (at, init) => askManager(at, { ...init, ca }),
    })
  }
}

/** Node trusts every authority of the web where none is named: the token would be theirs. */
async function authorityIn(path: string): Promise<string> {
  const ca = await readFile(path, 'utf8')
  if (ca.trim() === '') throw new RegentError('REGENT_BAD_CERTIFICATE', say`${path} is empty: no manager is trusted`)
  return ca
}

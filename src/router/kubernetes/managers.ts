import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Agent, fetch } from 'undici'
import { RegentError } from '#common/errors/errors.ts'
import { readTokenFile } from '#common/http/bearer-token.ts'
import { say } from '#common/sentence/sentence.ts'
import { ApiClient } from '#cli/connection/api-client.ts'
import { manager } from '#kube/names/manager-names.ts'
import { silentManagerMs } from '../manager-stream.ts'

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
export function managersOf({ url, folder, tokenFile }: ManagersParts): () => Promise<ApiClient> {
  let before: Agent | undefined
  return async () => {
    const dispatcher = new Agent({
      connect: { ca: await authorityIn(join(folder, manager.caKey)), timeout: 2_000 },
      // The reader of a stream knows when a stream is over.
      bodyTimeout: 2 * silentManagerMs,
    })
    await before?.destroy()
    before = dispatcher
    return ApiClient.over({
      url: await url(),
      token: await readTokenFile(tokenFile),
      // Node's own fetch takes no dispatcher of this undici. The two agree on arguments and results.
      fetch: async (at, init) => await fetch(at, { ...init, dispatcher } as Parameters<typeof fetch>[1]),
    })
  }
}

/** Node trusts every authority of the web where none is named: the token would be theirs. */
async function authorityIn(path: string): Promise<string> {
  const ca = await readFile(path, 'utf8')
  if (ca.trim() === '') throw new RegentError('REGENT_BAD_CERTIFICATE', say`${path} is empty: no manager is trusted`)
  return ca
}

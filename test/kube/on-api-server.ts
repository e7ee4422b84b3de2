import { afterAll, beforeAll, beforeEach, describe, inject } from 'vitest'
import { realRandom } from '#common/ports/real-world.ts'
import { ApiServer, type ApiServerAccess } from './api-server.ts'
import { adminOf, clientWith, namespaces, type Client } from './clients.ts'

/** The API server of a test, as an administrator has it. */
export interface OnApiServer {
  readonly access: ApiServerAccess
  readonly client: Client
  /** Of this test alone. */
  readonly namespace: string
}

/**
 * Tests on the API server that all files share: nothing in them may end or disturb it. Skipped where Kubernetes'
 * programs are missing; `global-setup.ts` says so.
 */
export function onApiServer(title: string, tests: (api: OnApiServer) => void): void {
  describeOn(
    title,
    async () => ({ access: await sharedAccess(inject('kube')?.door ?? ''), end: () => Promise.resolve() }),
    tests,
  )
}

/** Tests on an API server of their own, which they may kill, freeze and starve. */
export function onOwnApiServer(
  title: string,
  tests: (api: OnApiServer & { readonly server: ApiServer }) => void,
  flags?: readonly string[],
): void {
  const start = async (): Promise<ApiServer> => {
    const kube = inject('kube')
    if (kube === null) throw new Error('only asked for where the programs are')
    return ApiServer.start(kube.programs, flags)
  }
  describeOn(title, start, tests)
}

interface Server {
  readonly access: ApiServerAccess
  end(): Promise<void>
}

function describeOn<Kind extends Server>(
  title: string,
  start: () => Promise<Kind>,
  tests: (api: OnApiServer & { readonly server: Kind }) => void,
): void {
  describe.skipIf(inject('kube') === null)(title, () => {
    let server: Kind
    let client: Client
    let namespace: string
    beforeAll(async () => {
      server = await start()
      client = clientWith(adminOf(server.access), { throttle: { qps: 0, burst: 0 } })
    })
    beforeEach(async () => {
      namespace = await aNamespace(client)
    })
    afterAll(async () => {
      // Where it could not start there is nothing to end, and why is said already.
      await (client as Client | undefined)?.close()
      await (server as Kind | undefined)?.end()
    })
    tests({
      get access() {
        return server.access
      },
      get client() {
        return client
      },
      get namespace() {
        return namespace
      },
      get server() {
        return server
      },
    })
  })
}

async function sharedAccess(door: string): Promise<ApiServerAccess> {
  const answer = await fetch(door)
  if (!answer.ok) throw new Error(await answer.text())
  return (await answer.json()) as ApiServerAccess
}

/** Left behind: where no controller runs a namespace would never end, and the whole API server does. */
async function aNamespace(client: Client): Promise<string> {
  const name = `t-${realRandom.hex(10)}`
  await client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
  return name
}

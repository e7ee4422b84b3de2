import type { FastifyInstance } from 'fastify'
import { hostPort } from '#common/text/host-port.ts'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { readLogin, type Credentials } from './authorization.ts'
import { createOrchestrator, type OrchestratorOptions } from './create-orchestrator.ts'
import type { HostNames } from './fleet/fleet.ts'

/** Where the interface is served, and to whom. */
export interface OrchestratorAddress {
  readonly host: string
  readonly port: number
  readonly hostNames: HostNames
  readonly readOnly: boolean
  /** A file with `user:password`. */
  readonly loginFile?: string
  /** Other managers whose clusters are answered for, too. */
  readonly also?: readonly string[]
}

/** The interface, listening. Throws `REGENT_BAD_FILE` and `REGENT_ADDRESS_IN_USE`. */
export async function openOrchestrator(
  { host, port, loginFile, hostNames, readOnly, also = [] }: OrchestratorAddress,
  {
    token,
    ...parts
  }: Pick<OrchestratorOptions, 'clusters' | 'log' | 'timers' | 'hands' | 'leader'> & { readonly token: string },
): Promise<FastifyInstance> {
  const credentials = loginFile === undefined ? undefined : await credentialsIn(loginFile, token)
  const app = await createOrchestrator({ ...parts, hostNames, readOnly, also, ...(credentials && { credentials }) })
  await app.listen({ host, port }).catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'EADDRINUSE'
      ? new RegentError(
          'REGENT_ADDRESS_IN_USE',
          say`${hostPort(host, port)}, wanted for orchestrator’s interface, is taken`,
          {
            cause: error,
          },
        )
      : error
  })
  const open = credentials === undefined ? ': whoever reaches this may ask for everything' : ''
  parts.log.info(`orchestrator’s interface listens on ${hostPort(host, port)}${open}`)
  return app
}

/** The file is read at each request: its owner may change the login. While that cannot be read it is as it was. */
async function credentialsIn(loginFile: string, token: string): Promise<() => Promise<Credentials>> {
  let login = await readLogin(loginFile)
  return async () => {
    login = await readLogin(loginFile).catch(() => login)
    return { login, token }
  }
}

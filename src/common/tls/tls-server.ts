import { constants } from 'node:crypto'
import type { RequestListener } from 'node:http'
import { createServer, type Server, type ServerOptions } from 'node:https'
import type { Server as TlsServer } from 'node:tls'
import { RegentError } from '../errors/errors.ts'
import { say } from '../sentence/sentence.ts'
import { lowestTlsVersion, type CertificateSource, type TlsMaterial } from './tls.ts'

/**
 * An HTTPS server whose certificate can change while it runs. Throws `REGENT_BAD_CERTIFICATE` where there is none yet.
 */
export function createTlsServer(
  certificates: CertificateSource,
  options: ServerOptions,
  listener: RequestListener,
): Server {
  const material = certificates.current()
  if (material === undefined)
    throw new RegentError('REGENT_BAD_CERTIFICATE', say`a server was started before its certificate was there`)
  const server = createServer({ ...options, ...contextOf(material, options) }, listener)
  reloadWith(server, certificates, options)
  return server
}

/** New connections get each new certificate, from now until the server is closed. */
function reloadWith(server: TlsServer, certificates: CertificateSource, options: ServerOptions = {}): void {
  const forget = certificates.onChange((material) => server.setSecureContext(contextOf(material, options)))
  server.once('close', forget)
}

/** No tickets: who comes back with one would not be checked again. */
function contextOf({ cert, key, ca }: TlsMaterial, { minVersion = lowestTlsVersion }: ServerOptions): ServerOptions {
  return { cert, key, ...(ca !== '' && { ca }), minVersion, secureOptions: constants.SSL_OP_NO_TICKET }
}

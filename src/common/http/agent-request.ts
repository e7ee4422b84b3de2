import type { ClientRequest, RequestOptions } from 'node:http'
import { request as tlsRequest } from 'node:https'
import { described, RegentError } from '../errors/errors.ts'
import { say, type Sentence } from '../sentence/sentence.ts'
import { request } from './node-http.ts'
import { complaintAboutPeer, lowestTlsVersion, type ClientTls } from '../tls/tls.ts'

/**
 * A request to an agent. With TLS its certificate must be of the authority and for the name given, and ours is shown,
 * as both are at this moment: connections are pooled by certificate, so that a renewed one makes new ones. Throws where
 * there is no certificate to show, or it cannot be used.
 */
export function requestTo(tls: ClientTls | undefined, options: RequestOptions): ClientRequest {
  if (tls === undefined) return request(options)
  const material = tls.certificates.current()
  if (material === undefined)
    throw new RegentError('REGENT_BAD_CERTIFICATE', say`there is no certificate yet to show to the agent`)
  return tlsRequest({ agent: false, ...options, ...material, servername: tls.servername, minVersion: lowestTlsVersion })
}

/** Whether the agent is there and shows a certificate that is refused. */
export function isDistrust(error: unknown): boolean {
  const { code } = error as { readonly code?: string }
  return code === 'ERR_TLS_CERT_ALTNAME_INVALID' || complaintAboutPeer(code) !== undefined
}

/** A line about a failed request; certificates are named as what is wrong. */
export function describeFailure(error: unknown): Sentence {
  const { code, reason } = error as { readonly code?: string; readonly reason?: string }
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return say`its certificate is refused: it is for another name (${reason ?? ''})`
  if (code === 'EPROTO') return say`it does not speak TLS as expected: ${described(error)}`
  const complaint = complaintAboutPeer(code)
  return complaint === undefined ? say`${described(error)}` : say`its certificate is refused: ${complaint}`
}

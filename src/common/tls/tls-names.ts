import { X509Certificate } from 'node:crypto'
import { RegentError } from '../errors/errors.ts'
import { say } from '../sentence/sentence.ts'
import type { TlsMaterial } from './tls.ts'

/** What the certificate of a cluster's agents is for. Nobody resolves it: connections go to IP addresses. */
export function agentTlsName(cluster: string, namespace: string): string {
  return `agent.${cluster}.${namespace}.regent`
}

/** What the managers show to the agents of a cluster. */
export function managerTlsName(cluster: string, namespace: string): string {
  return `manager.${cluster}.${namespace}.regent`
}

/** The name an agent's own certificate is for. Throws `REGENT_BAD_CERTIFICATE` where it is for none. */
export function ownTlsName({ cert }: TlsMaterial): string {
  const { subjectAltName = '' } = new X509Certificate(cert)
  const name = /^DNS:([^,]+)/.exec(subjectAltName)?.[1]
  if (name === undefined)
    throw new RegentError(
      'REGENT_BAD_CERTIFICATE',
      say`the agent’s certificate is for "${subjectAltName}"; it must begin with a DNS name such as ${agentTlsName('<cluster>', '<namespace>')}`,
    )
  return name
}

/** Callers that an agent accepts: the others of its cluster, which show the same certificate, and the managers. */
export function mayCall(caller: X509Certificate, agentName: string): boolean {
  return [agentName, agentName.replace(/^agent\./, 'manager.')].some(
    (name) => caller.checkHost(name, { subject: 'never' }) !== undefined,
  )
}

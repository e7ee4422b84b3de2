import { createPrivateKey, X509Certificate } from 'node:crypto'
import { createSecureContext } from 'node:tls'
import { described, RegentError } from '../errors/errors.ts'
import { say, type Sayable, type Sentence } from '../sentence/sentence.ts'

/** A certificate with its key, and whom to trust. PEM. */
export interface TlsMaterial {
  readonly cert: string
  readonly key: string
  /** The authority, or several while one replaces another; '' where nobody's certificate is checked. */
  readonly ca: string
}

/** Certificates that change while a process runs: whoever uses them takes the new ones without a restart. */
export interface CertificateSource {
  /** Undefined until the first are there. */
  current(): TlsMaterial | undefined
  /** Calls `changed` with each new set until the returned function is called. */
  onChange(changed: (material: TlsMaterial) => void): () => void
}

/** A source that is told what is there now. */
export class HeldCertificates implements CertificateSource {
  readonly #listeners = new Set<(material: TlsMaterial) => void>()
  #held: TlsMaterial | undefined

  current(): TlsMaterial | undefined {
    return this.#held
  }

  onChange(changed: (material: TlsMaterial) => void): () => void {
    this.#listeners.add(changed)
    return () => void this.#listeners.delete(changed)
  }

  /**
   * Whether these are others than before. Throws `REGENT_BAD_CERTIFICATE`, and keeps what it has, where they cannot be
   * used.
   */
  put(material: TlsMaterial, where: Sayable): boolean {
    const complaint = complaintAboutMaterial(material)
    if (complaint !== undefined) throw new RegentError('REGENT_BAD_CERTIFICATE', say`${where}: ${complaint}`)
    const { cert, key, ca } = this.#held ?? {}
    if (cert === material.cert && key === material.key && ca === material.ca) return false
    this.#held = material
    for (const changed of this.#listeners) changed(material)
    return true
  }
}

/** How agents are spoken to where TLS is on: both sides show a certificate. */
export interface ClientTls {
  readonly certificates: Pick<CertificateSource, 'current'>
  /**
   * The name that the agents' certificate carries. Connections go to IP addresses, so that nothing waits for a name
   * server.
   */
  readonly servername: string
}

/** All that Regent speaks to with certificates of its own is Regent. */
export const lowestTlsVersion = 'TLSv1.3'

/** Why these cannot be used. They come as several files or keys, of which one may be newer than the other. */
export function complaintAboutMaterial({ cert, key, ca }: TlsMaterial): Sentence | undefined {
  try {
    if (!new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))) return say`tls.key is not the key of tls.crt`
  } catch (error) {
    return say`tls.crt or tls.key cannot be read: ${described(error)}`
  }
  try {
    if (ca !== '') new X509Certificate(ca)
    createSecureContext({ cert, key, ...(ca !== '' && { ca }) })
  } catch (error) {
    return say`ca.crt cannot be read: ${described(error)}`
  }
  return undefined
}

const complaints: Readonly<Record<string, Sentence>> = {
  CERT_HAS_EXPIRED: say`it has expired`,
  CERT_NOT_YET_VALID: say`it is not valid yet, so the clocks differ`,
  INVALID_PURPOSE: say`it was made for another purpose`,
}
const strangers = [
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'CERT_SIGNATURE_FAILURE',
]

/** What is wrong with a peer's certificate, by OpenSSL's code for it; undefined where the code is of something else. */
export function complaintAboutPeer(code: string | undefined): Sentence | undefined {
  if (code === undefined) return undefined
  return (
    complaints[code] ??
    (strangers.includes(code) ? say`it is of an authority that is not trusted here (ca.crt)` : undefined)
  )
}

import { certificatesIn, isValidAt } from '#certificates/certificate.ts'
import { complaintAboutMaterial } from '#common/tls/tls.ts'
import { textIn, type Secret } from '../secrets/secrets.ts'
import { say, type Sentence } from '#common/sentence/sentence.ts'

/** Why servers cannot show clients what is in this Secret, as the rest of a sentence; undefined where they can. */
export function complaintAboutClientCertificate(secret: Secret | undefined, wallMs: number): Sentence | undefined {
  if (secret === undefined) return say`is not there`
  const [cert, key, ca = ''] = [textIn(secret, 'tls.crt'), textIn(secret, 'tls.key'), textIn(secret, 'ca.crt')]
  if (cert === undefined || key === undefined) return say`lacks ${cert === undefined ? say`tls.crt` : say`tls.key`}`
  const complaint = complaintAboutMaterial({ cert, key, ca })
  if (complaint !== undefined) return say`cannot be used: ${complaint}`
  const [leaf] = certificatesIn(cert)
  return leaf === undefined || isValidAt(leaf, wallMs)
    ? undefined
    : say`is valid only from ${leaf.validFromDate.toISOString()} until ${leaf.validToDate.toISOString()}`
}

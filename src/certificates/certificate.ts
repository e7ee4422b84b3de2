import { createPrivateKey, X509Certificate } from 'node:crypto'
import { purposeIds, type LeafWish } from './issue.ts'

/** The certificates of a PEM text, in its order; none where one cannot be read. */
export function certificatesIn(pem: string | undefined): readonly X509Certificate[] {
  try {
    return (pem?.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []).map(
      (one) => new X509Certificate(one),
    )
  } catch {
    return []
  }
}

export function isKeyOf(certificate: X509Certificate, key: string): boolean {
  try {
    return certificate.checkPrivateKey(createPrivateKey(key))
  } catch {
    return false
  }
}

export function isSignedBy(certificate: X509Certificate, authority: X509Certificate | undefined): boolean {
  return authority !== undefined && certificate.checkIssued(authority) && certificate.verify(authority.publicKey)
}

export function isValidAt(certificate: X509Certificate, wallMs: number): boolean {
  return certificate.validFromDate.getTime() <= wallMs && wallMs < certificate.validToDate.getTime()
}

/** When two thirds of its time are over: the rest is for somebody to notice that it is not renewed. */
export function isDueForRenewal(certificate: X509Certificate, wallMs: number): boolean {
  const fromMs = certificate.validFromDate.getTime()
  return wallMs >= fromMs + ((certificate.validToDate.getTime() - fromMs) * 2) / 3
}

/** Whether it is for exactly these names and purposes. */
export function shows(certificate: X509Certificate, { dns, ips = [], purposes }: LeafWish): boolean {
  const names = (certificate.subjectAltName ?? '').split(', ')
  const wanted = [...dns.map((name) => `DNS:${name}`), ...ips.map((ip) => `IP Address:${ip}`)]
  return (
    areSame(names, wanted) &&
    areSame(
      certificate.keyUsage,
      purposes.map((purpose) => purposeIds[purpose]),
    )
  )
}

function areSame(some: readonly string[], others: readonly string[]): boolean {
  return some.length === others.length && some.every((one) => others.includes(one))
}

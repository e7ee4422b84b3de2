// The library's container of classes refuses to load without it.
import 'reflect-metadata'
import { createPrivateKey, generateKeyPair, webcrypto, X509Certificate, type KeyObject } from 'node:crypto'
import { promisify } from 'node:util'
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509CertificateGenerator,
  type Extension,
} from '@peculiar/x509'
import type { Random } from '#common/ports/ports.ts'

/** A certificate and its private key, PEM (the key PKCS #8). */
export interface Issued {
  readonly cert: string
  readonly key: string
}

/** When it is made, and the randomness of serial numbers. Keys come from OpenSSL's own. */
export interface Moment {
  readonly wallMs: number
  readonly random: Random
}

export interface LeafWish {
  readonly dns: readonly string[]
  readonly ips?: readonly string[]
  /** What its owner may show it as. */
  readonly purposes: readonly ('server' | 'client')[]
  readonly validMs: number
}

/** Certificates are valid from this long before they are made, for those whose clocks are behind. */
export const clockSkewMs = 5 * 60_000

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const
/** Ids in the extension that says what a certificate may be shown as. */
export const purposeIds = { server: ExtendedKeyUsage.serverAuth, client: ExtendedKeyUsage.clientAuth } as const
const newKeys = promisify(generateKeyPair)

/**
 * An authority that signs itself. Each has a name of its own, so that an old and a new one are never taken for each
 * other.
 */
export async function issueAuthority(validMs: number, moment: Moment): Promise<Issued> {
  const { publicKey, privateKey } = await newKeys('ec', { namedCurve: algorithm.namedCurve })
  const name = `CN=regent authority ${moment.random.hex(16)}`
  const extensions = [
    new BasicConstraintsExtension(true, 0, true),
    new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
  ]
  return signed(
    {
      subject: name,
      issuer: name,
      publicKey,
      privateKey,
      signer: { publicKey, privateKey },
      extensions,
      untilMs: moment.wallMs + validMs,
    },
    moment,
  )
}

/** A certificate that the authority signs, valid no longer than that is. */
export async function issueLeaf(
  authority: Issued,
  { dns, ips = [], purposes, validMs }: LeafWish,
  moment: Moment,
): Promise<Issued> {
  const { publicKey, privateKey } = await newKeys('ec', { namedCurve: algorithm.namedCurve })
  const issuer = new X509Certificate(authority.cert)
  const extensions = [
    new BasicConstraintsExtension(false, undefined, true),
    new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
    new ExtendedKeyUsageExtension(purposes.map((purpose) => purposeIds[purpose])),
    new SubjectAlternativeNameExtension([
      ...dns.map((value) => ({ type: 'dns' as const, value })),
      ...ips.map((value) => ({ type: 'ip' as const, value })),
    ]),
  ]
  const signer = { publicKey: issuer.publicKey, privateKey: createPrivateKey(authority.key) }
  // The holder's names stand in the alternative names: a common name has room for 64 characters only.
  return signed(
    {
      subject: 'CN=regent',
      issuer: issuer.subject,
      publicKey,
      privateKey,
      signer,
      extensions,
      untilMs: Math.min(moment.wallMs + validMs, issuer.validToDate.getTime()),
    },
    moment,
  )
}

interface Keys {
  readonly publicKey: KeyObject
  readonly privateKey: KeyObject
}

interface Draft extends Keys {
  readonly subject: string
  readonly issuer: string
  readonly signer: Keys
  readonly extensions: readonly Extension[]
  readonly untilMs: number
}

async function signed(
  { subject, issuer, publicKey, privateKey, signer, extensions, untilMs }: Draft,
  { wallMs, random }: Moment,
): Promise<Issued> {
  const ownKey = publicKey.toCryptoKey(algorithm, true, ['verify'])
  const certificate = await X509CertificateGenerator.create(
    {
      serialNumber: random.hex(32),
      subject,
      issuer,
      notBefore: new Date(wallMs - clockSkewMs),
      notAfter: new Date(untilMs),
      publicKey: ownKey,
      signingKey: signer.privateKey.toCryptoKey(algorithm, false, ['sign']),
      signingAlgorithm: algorithm,
      extensions: [
        ...extensions,
        await SubjectKeyIdentifierExtension.create(ownKey, false, webcrypto),
        await AuthorityKeyIdentifierExtension.create(
          signer.publicKey.toCryptoKey(algorithm, true, ['verify']),
          false,
          webcrypto,
        ),
      ],
    },
    webcrypto,
  )
  return {
    cert: new X509Certificate(Buffer.from(certificate.rawData)).toString(),
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
  }
}

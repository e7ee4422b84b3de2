import type { X509Certificate } from 'node:crypto'
import { certificatesIn, isDueForRenewal, isKeyOf, isSignedBy, isValidAt, shows } from './certificate.ts'
import { clockSkewMs, issueAuthority, issueLeaf, type Issued, type LeafWish, type Moment } from './issue.ts'

/** An authority and what it signs, as they are stored. */
export interface Chain<Leaf extends string> {
  /** Whom to trust, PEM: the authority that signs, and after it those that it replaces. */
  readonly bundle: string
  /** The key of the first authority in the bundle. */
  readonly key: string
  readonly leaves: Readonly<Record<Leaf, Issued>>
}

/** What was found of it, whole or not. */
export interface FoundChain<Leaf extends string> {
  readonly bundle?: string | undefined
  readonly key?: string | undefined
  readonly leaves: Readonly<Partial<Record<Leaf, FoundLeaf>>>
}

interface FoundLeaf {
  readonly cert?: string | undefined
  readonly key?: string | undefined
}

export interface ChainWish<Leaf extends string> {
  readonly authorityValidMs: number
  readonly leaves: Readonly<Record<Leaf, LeafWish>>
}

/**
 * So long after it was made everybody has a certificate: the kubelet renews the files of a Secret about once a minute,
 * and managers look as often.
 */
export const settleMs = 3_600_000

/**
 * The chain as it should be now; what may stay stays to the letter. An authority is replaced with an overlap, so that
 * nobody ever meets a certificate that it does not trust: the new one is trusted first, signs once everybody has heard
 * of it, and the old one goes when what replaced all that it had signed is as old.
 */
export async function renewedChain<Leaf extends string>(
  found: FoundChain<Leaf>,
  wish: ChainWish<Leaf>,
  moment: Moment,
): Promise<Chain<Leaf>> {
  const { wallMs } = moment
  const known = certificatesIn(found.bundle).filter((one) => one.ca && isValidAt(one, wallMs))
  const signer = signerIn(known[0], found.key, wallMs) ?? (await issueAuthority(wish.authorityValidMs, moment))
  const authorities = [...certificatesIn(signer.cert), ...known.filter((one) => one.toString() !== signer.cert)]
  const leaves = {} as Record<Leaf, Issued>
  for (const name of Object.keys(wish.leaves) as Leaf[]) {
    leaves[name] =
      leafThatStays(found.leaves[name], { wish: wish.leaves[name], authorities, wallMs }) ??
      (await issueLeaf(signer, wish.leaves[name], moment))
  }
  const overlaps = Object.values<Issued>(leaves).some(
    ({ cert }) => !certificatesIn(cert).every((leaf) => isSignedBy(leaf, authorities[0]) && hasSettled(leaf, wallMs)),
  )
  return { bundle: (overlaps ? authorities : authorities.slice(0, 1)).map(String).join(''), key: signer.key, leaves }
}

function signerIn(authority: X509Certificate | undefined, key: string | undefined, wallMs: number): Issued | undefined {
  if (authority === undefined || key === undefined || !isKeyOf(authority, key) || isDueForRenewal(authority, wallMs))
    return undefined
  return { cert: authority.toString(), key }
}

interface Terms {
  readonly wish: LeafWish
  /** The one that signs first. */
  readonly authorities: readonly X509Certificate[]
  readonly wallMs: number
}

function leafThatStays(found: FoundLeaf | undefined, terms: Terms): Issued | undefined {
  const { cert, key } = found ?? {}
  const [leaf] = certificatesIn(cert)
  if (cert === undefined || key === undefined || leaf === undefined) return undefined
  return isKeyOf(leaf, key) && mayStay(leaf, terms) ? { cert, key } : undefined
}

function mayStay(leaf: X509Certificate, { wish, authorities, wallMs }: Terms): boolean {
  const [newest] = authorities
  if (newest === undefined || !isValidAt(leaf, wallMs) || !shows(leaf, wish)) return false
  if (isSignedBy(leaf, newest)) return !isDueForRenewal(leaf, wallMs)
  return !hasSettled(newest, wallMs) && authorities.some((one) => isSignedBy(leaf, one))
}

function hasSettled(certificate: X509Certificate, wallMs: number): boolean {
  return wallMs >= certificate.validFromDate.getTime() + clockSkewMs + settleMs
}

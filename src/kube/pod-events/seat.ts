import { isReady } from '#controller-runtime/objects/conditions.ts'
import { pods, type Pod } from '../pods/stateful-set.ts'
import { metadataChange, type Change } from './decision.ts'
import { marks, roleLabel } from './marks.ts'
import type { OrderBounds, VersionKind } from './order-bounds.ts'
import { uint64 } from './role-claim.ts'

export interface Version {
  readonly kind: VersionKind
  readonly number: bigint
}

const annotationOf = { snapshot: marks.snapshotVersion, authoritative: marks.authoritativeVersion } as const

/** The exclusive role that a peer took, the peer's version of then, and the pod's own. */
interface LostRole {
  readonly role: string
  readonly number: bigint
  /** Undefined as managers wrote it that left the pod's own where it was. */
  readonly own: bigint | undefined
}

function lostRoleIn(text: string | undefined): LostRole | undefined {
  const [role = '', number = '', own = ''] = (text ?? '').split(' ')
  return role === '' ? undefined : { role, number: uint64(number) ?? 0n, own: uint64(own) }
}

/** The pod's own version: beside its lost role, while the peer's stands in its place. */
function ownOf(told: bigint | undefined, lost: LostRole | undefined): bigint | undefined {
  return lost?.own !== undefined && told === lost.number ? lost.own : told
}

/** The role of one pod and how new it is, as its label and annotations say, and as they are to be. */
export class Seat {
  readonly pod: Pod
  readonly #versions: Record<VersionKind, bigint | undefined>
  #role: string | undefined
  #lost: LostRole | undefined
  readonly #annotations: Record<string, string | null> = {}
  /** Numbers that are greater than any can be now, and are taken back. */
  readonly #tooGreat = new Set<bigint>()

  constructor(pod: Pod, bounds: OrderBounds) {
    this.pod = pod
    this.#role = pod.metadata.labels?.[roleLabel]
    const written = pod.metadata.annotations ?? {}
    // An annotation that is no number, as a manager before 1.0 wrote one, counts as none.
    const version = (kind: VersionKind) =>
      this.#believed(annotationOf[kind], uint64(written[annotationOf[kind]] ?? ''), bounds[kind])
    const lost = lostRoleIn(written[marks.lostRole])
    const latest = lost?.own !== undefined && lost.own > lost.number ? lost.own : lost?.number
    this.#lost = this.#believed(marks.lostRole, latest, bounds.snapshot) === undefined ? undefined : lost
    this.#versions = { snapshot: ownOf(version('snapshot'), this.#lost), authoritative: version('authoritative') }
  }

  /** The number, unless it is greater than any can be: then its annotation is taken away. */
  #believed(annotation: string, number: bigint | undefined, most: bigint): bigint | undefined {
    if (number === undefined || number <= most) return number
    this.#tooGreat.add(number)
    this.#annotations[annotation] = null
    return undefined
  }

  get tooGreat(): readonly bigint[] {
    return [...this.#tooGreat]
  }

  get name(): string {
    return this.pod.metadata.name
  }

  get role(): string | undefined {
    return this.#role
  }

  get isReady(): boolean {
    return isReady(this.pod)
  }

  version(kind: VersionKind): bigint | undefined {
    return this.#versions[kind]
  }

  /** Up to which time a peer's claim on this exclusive role stands against this pod's; 0 where none did. */
  lostUntil(role: string): bigint {
    return this.#lost?.role === role ? this.#lost.number : 0n
  }

  /** @param role undefined: it has none */
  put(role: string | undefined, { kind, number }: Version): void {
    this.#role = role
    this.#versions[kind] = number
    if (kind === 'snapshot' && this.#lost !== undefined && number < this.#lost.number)
      return this.#noteLoss(this.#lost.role, this.#lost.number)
    this.#annotations[annotationOf[kind]] = String(number)
  }

  /**
   * A peer took its role. KubeBlocks' manager reads the time at which the role was last told, and nothing else: a late
   * word of this pod must not be later than that, so the peer's time stands there. What this pod said itself before
   * that, and is heard of late, still counts here, but for a claim on this very role: its own time is noted beside it.
   * A version of the engine's own is no time, and nothing is noted of such a one.
   */
  lose(role: string, { kind, number }: Version): void {
    this.#role = undefined
    if (kind !== 'snapshot') return
    this.#noteLoss(role, number)
  }

  #noteLoss(role: string, number: bigint): void {
    const own = this.#versions.snapshot ?? 0n
    this.#lost = { role, number, own }
    // Never back, also where a holder that is not ready said so later.
    this.#annotations[marks.snapshotVersion] = String(own > number ? own : number)
    this.#annotations[marks.lostRole] = `${role} ${number} ${own}`
  }

  /** Whether its label is another than the one it has now. */
  get hasMoved(): boolean {
    return this.#role !== this.pod.metadata.labels?.[roleLabel]
  }

  /** Undefined where nothing is to be written. */
  get change(): Change | undefined {
    const annotations = this.#annotations
    const isStamped = Object.keys(annotations).length > 0
    if (!this.hasMoved && !isStamped) return undefined
    return metadataChange(pods, this.pod, {
      ...(this.hasMoved && { labels: { [roleLabel]: this.#role ?? null } }),
      ...(isStamped && { annotations }),
    })
  }
}

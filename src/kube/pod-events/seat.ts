import { pods, type Pod } from '../pods/stateful-set.ts'
import { isReady } from './component.ts'
import { metadataChange, type Change } from './decision.ts'
import { marks, roleLabel } from './marks.ts'
import { uint64 } from './role-claim.ts'

/** The two orders in which roles are told; numbers of one say nothing about the other. */
export type VersionKind = 'snapshot' | 'authoritative'

export interface Version {
  readonly kind: VersionKind
  readonly number: bigint
}

const annotationOf = { snapshot: marks.snapshotVersion, authoritative: marks.authoritativeVersion } as const

/** The role of one pod and how new it is, as its label and annotations say, and as they are to be. */
export class Seat {
  readonly pod: Pod
  readonly #versions: Record<VersionKind, bigint | undefined>
  #role: string | undefined
  /** The exclusive role that a peer took, and the peer's version of then. */
  #lost: { readonly role: string; readonly number: bigint } | undefined
  readonly #annotations: Record<string, string> = {}

  constructor(pod: Pod) {
    this.pod = pod
    this.#role = pod.metadata.labels?.[roleLabel]
    // An annotation that is no number, as a manager before 1.0 wrote one, counts as none.
    const version = (kind: VersionKind) => uint64(pod.metadata.annotations?.[annotationOf[kind]] ?? '')
    this.#versions = { snapshot: version('snapshot'), authoritative: version('authoritative') }
    const [lost = '', number = ''] = (pod.metadata.annotations?.[marks.lostRole] ?? '').split(' ')
    this.#lost = { role: lost, number: uint64(number) ?? 0n }
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
    this.#annotations[annotationOf[kind]] = String(number)
  }

  /**
   * A peer took its role. Its own version stays: what it said itself before that, and is heard of late, still counts,
   * but for a claim on this very role. A version of the engine's own is no time, and nothing is noted of such a one.
   */
  lose(role: string, { kind, number }: Version): void {
    this.#role = undefined
    if (kind !== 'snapshot') return
    this.#lost = { role, number }
    this.#annotations[marks.lostRole] = `${role} ${number}`
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

import { joined, say, text, type Sentence } from '#common/sentence/sentence.ts'
import type { Pod } from '../pods/stateful-set.ts'
import { isLabelValue, type Role } from './component.ts'
import type { PodDecision } from './decision.ts'
import type { OrderBounds } from './order-bounds.ts'
import type { PodRole } from './role-claim.ts'
import { Seat, type Version } from './seat.ts'

/** An exclusive role that another, healthy pod claimed later is asked for again after this time. */
export const contestedMs = 5_000

/** The pods of one component, and what becomes of their roles. */
export class RoleBoard {
  readonly #seats: ReadonlyMap<string, Seat>
  readonly #roles: readonly Role[] | undefined
  readonly #sentences: Sentence[] = []
  #isUndefined = false
  #isContested = false

  constructor(all: readonly Pod[], roles: readonly Role[] | undefined, bounds: OrderBounds) {
    this.#seats = new Map(all.map((pod) => [pod.metadata.name, new Seat(pod, bounds)]))
    this.#roles = roles
    for (const { name, tooGreat } of this.#seats.values())
      if (tooGreat.length > 0)
        this.#say(
          say`${name}: ${text(tooGreat.join(' and '))}, by which its role was ordered, is greater than any number can be by the API server’s clock, and is taken back`,
        )
  }

  /** Takes what is said of one pod, unless something newer is known or a peer's claim stands against it. */
  claim({ pod, uid, role: said }: PodRole, version: Version): void {
    const seat = this.#seats.get(pod)
    // A snapshot may name any pod: only those of the same owner are this component's business.
    if (seat === undefined) return this.#say(say`${pod} is no pod of this component`)
    const refusal = refusalOf(seat, uid, version)
    if (refusal !== undefined) return this.#say(refusal)
    const role = this.#defined(seat, said)
    const holders = role?.isExclusive === true ? this.#holders(seat, role.name, version) : []
    if (holders === undefined) return
    for (const holder of holders) holder.lose(role?.name ?? '', version)
    seat.put(role?.name, version)
    this.#say(outcome(seat, holders))
  }

  decision(): PodDecision {
    const seats = [...this.#seats.values()]
    // Off the old, then on the new: never two.
    const inOrder = [
      ...seats.filter(({ role }) => role === undefined),
      ...seats.filter(({ role }) => role !== undefined),
    ]
    return {
      ...this.#weighed(seats.some(({ hasMoved }) => hasMoved)),
      changes: inOrder.flatMap(({ change }) => change ?? []),
      sentence: joined(this.#sentences, '; ') || say`it names no pod`,
      ...(this.#isContested && { againAfterMs: contestedMs }),
    }
  }

  #weighed(hasNews: boolean): Pick<PodDecision, 'weight' | 'reason'> {
    if (this.#isUndefined) return { weight: 'warning', reason: 'RoleUndefined' }
    if (this.#isContested) return { weight: 'warning', reason: 'RoleContested' }
    if ([...this.#seats.values()].some(({ tooGreat }) => tooGreat.length > 0))
      return { weight: 'warning', reason: 'OrderTakenBack' }
    return hasNews ? { weight: 'news', reason: 'RoleChanged' } : { weight: 'routine', reason: 'RoleUnchanged' }
  }

  #say(sentence: Sentence): void {
    this.#sentences.push(sentence)
  }

  /** The role in its defined spelling; undefined for none, and for one that the component does not have. */
  #defined(seat: Seat, said: string): Role | undefined {
    const lower = said.toLowerCase()
    if (lower === '') return undefined
    const known = this.#roles?.find(({ name }) => name.toLowerCase() === lower)
    const role = known ?? (this.#roles === undefined && isLabelValue(lower) ? { name: lower } : undefined)
    if (role === undefined) {
      this.#isUndefined = true
      const choice = this.#roles?.map(({ name }) => name).join(', ') ?? 'whatever a label can say'
      this.#say(
        say`${seat.name} says it is "${lower.slice(0, 80)}", which is none of its component's roles (${text(choice)})`,
      )
    }
    return role
  }

  /** The peers that lose an exclusive role to this claim; undefined where the claim does not win it. */
  #holders(seat: Seat, role: string, version: Version): readonly Seat[] | undefined {
    if (version.kind === 'snapshot' && version.number <= seat.lostUntil(role)) {
      this.#say(say`${seat.name} is not made ${role}: a peer said later that it is`)
      return undefined
    }
    // KubeBlocks' manager writes a role in lower case, whatever its definition says.
    const holders = [...this.#seats.values()].filter(
      (other) => other !== seat && other.role?.toLowerCase() === role.toLowerCase(),
    )
    return holders.some((holder) => this.#standsAgainst(seat, holder, version)) ? undefined : holders
  }

  /** Whether a peer's claim on an exclusive role stands against the claim of `seat`. */
  #standsAgainst(seat: Seat, holder: Seat, version: Version): boolean {
    const authoritative = holder.version('authoritative')
    const stands = say`${seat.name} is not made ${holder.role ?? ''}: ${holder.name} is`
    if (version.kind === 'authoritative') {
      if (authoritative === undefined || authoritative < version.number) return false
      this.#say(say`${stands}, of version ${authoritative}, and ${version.number} is no later one`)
      return true
    }
    if (authoritative !== undefined) {
      this.#say(say`${stands}, of version ${authoritative}, and this claim has none`)
      return true
    }
    // Clocks of nodes differ. A holder that is ill stands in nobody's way; one that is well may be told otherwise soon.
    if (version.number >= (holder.version('snapshot') ?? 0n) || !holder.isReady) return false
    this.#isContested = true
    this.#say(say`${stands}, said so later, and is ready; looked at again`)
    return true
  }
}

/** Why a claim is not about this pod, or older than what is known of it; undefined where neither is so. */
function refusalOf(seat: Seat, uid: string, { kind, number }: Version): Sentence | undefined {
  if (seat.pod.metadata.uid !== uid) return say`${seat.name} is another pod than the one of which its role was said`
  const authoritative = seat.version('authoritative')
  if (kind === 'snapshot' && authoritative !== undefined)
    return say`${seat.name}: its role has version ${authoritative}, and a claim without one does not change it`
  const known = seat.version(kind)
  if (known === undefined || number > known) return undefined
  return say`${seat.name}: ${number} is no later than ${known}, when its role was last told`
}

function outcome(seat: Seat, holders: readonly Seat[]): Sentence {
  const { name, role, hasMoved } = seat
  const is = role === undefined ? say`has no role` : say`is ${role}`
  const lost = joined(
    holders.map((holder) => say`, and ${holder.name} no longer`),
    '',
  )
  return hasMoved || holders.length > 0 ? say`${name} ${is} now${lost}` : say`${name} ${is}, as before`
}

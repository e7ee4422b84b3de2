import { isAnswerOfSource } from '#common/mysql/answer-of-source.ts'
import { say, text, type Sentence } from '#common/sentence/sentence.ts'
import { abbreviated, allOf } from '#common/text/words.ts'
import type { ReplicationNode, ReplicationTree } from '#topology/snapshot/replication-tree.ts'
import type { SeenChannel } from '../servers/seen.ts'
import { channelOf, sourceOf } from './links.ts'
import { answers, type AnsweredLook, type Look } from './look.ts'

/**
 * What is known of the primary of a cluster that is only watched. Nobody is beside it: its server speaks by SQL, and
 * its replicas tell by another way whether they have lost it.
 */
export type PrimaryState =
  | { readonly kind: 'none' }
  | { readonly kind: 'serving'; readonly look: AnsweredLook }
  /** mysqld is there: too many connections, or an account that is refused, is no death. */
  | { readonly kind: 'alive'; readonly look: Look; readonly why: Sentence }
  /** The primary does not answer, and replicas still show that they receive from it. */
  | { readonly kind: 'unreachable'; readonly look: Look; readonly why: Sentence }
  /** The primary does not answer, and nobody can testify. */
  | { readonly kind: 'unknown'; readonly look: Look; readonly why: Sentence }
  | { readonly kind: 'dead'; readonly look: Look; readonly why: Sentence }

/** So many milliseconds of looks in vain before anybody is asked whether it is dead. */
const patienceWithPrimaryMs = 900

/**
 * A server that takes writes and is followed, else the server that most follow. Followers that answer come first: what
 * the others were seen to follow may be long ago. Among equals come first the server that takes writes, then the
 * primary of before, then the first in the list.
 */
export function findPrimary(tree: ReplicationTree, looks: readonly Look[], before: string | null): Look | undefined {
  const living = new Set(looks.filter(answers).map(({ host }) => host.instance))
  const roots = looks.flatMap((look) => {
    const name = look.host.instance
    const root = tree.roots.find((one) => rootsIn(one, tree).includes(name))
    if (root === undefined || !mayBePrimary(look, sizeOf(root), looks)) return []
    const followers = sizeOf(root, (one) => one !== name && living.has(one))
    const writes = takesWrites(look)
    return [{ look, rank: [writes && followers > 0, followers, sizeOf(root), writes, name === before].map(Number) }]
  })
  return roots.toSorted((one, other) => difference(other.rank, one.rank))[0]?.look
}

/** A server that nobody follows leads where it takes writes, or is alone. */
function mayBePrimary(look: Look, size: number, looks: readonly Look[]): boolean {
  if (takesWrites(look) || looks.length === 1) return true
  return size > 1 && !looks.filter(takesWrites).some((writer) => isBetween(look, writer, looks))
}

/** Nobody saw whom it follows. Its replicas hold what the writer wrote, and nothing of its own: it passes that on. */
function isBetween(look: Look, { server: writer }: Look, looks: readonly Look[]): boolean {
  const replicas = looks.filter(answers).filter((one) => follows(one, look, looks))
  const hasWritten = (uuid = ''): boolean =>
    uuid !== '' && replicas.some(({ server }) => server.executed.includes(uuid))
  return (
    look.server === null &&
    hasWritten(writer?.uuid) &&
    !replicas.some((one) => hasWritten(channelOf(one, looks)?.sourceUuid))
  )
}

/** In a ring everybody is a root. */
function rootsIn({ instance }: ReplicationNode, { cycles }: ReplicationTree): readonly string[] {
  return cycles.find(([head]) => head === instance) ?? [instance]
}

/** How many servers a tree has, or of these alone. */
export function sizeOf(
  { instance, followers }: ReplicationNode,
  counts: (name: string) => boolean = () => true,
): number {
  return followers.reduce((all, follower) => all + sizeOf(follower, counts), Number(counts(instance)))
}

/** By the first place in which they differ. */
function difference(one: readonly number[], other: readonly number[]): number {
  return one.map((number, place) => number - (other[place] ?? 0)).find((by) => by !== 0) ?? 0
}

export function takesWrites(look: Look | undefined): boolean {
  return answers(look) && !look.server.readOnly && !look.server.offline
}

export function primaryState(look: Look | undefined, looks: readonly Look[], nowMs: number): PrimaryState {
  if (look === undefined) return { kind: 'none' }
  if (answers(look)) return { kind: 'serving', look }
  const words = reachWords(look)
  if (look.reach === null) return { kind: 'unknown', look, why: words }
  if (look.reach === 'unasked') return { kind: 'unknown', look, why: reachInFull(look) }
  if (look.reach === 'full' || look.reach === 'lockedOut') return { kind: 'alive', look, why: words }
  if (nowMs - look.sinceMs < patienceWithPrimaryMs) return { kind: 'unknown', look, why: say`${words}, since just now` }
  return byReplicas(look, looks, words)
}

/**
 * A replica whose receiver was stopped by hand, or failed for another reason, testifies nothing; neither does one that
 * was looked at before the primary fell silent.
 */
function byReplicas(look: Look, looks: readonly Look[], words: Sentence): PrimaryState {
  const followers = looks.filter((one) => follows(one, look, looks))
  const witnesses = followers.filter(answers).filter((one) => one.askedMs >= look.sinceMs)
  const io = (one: Look) => channelOf(one, looks)?.io
  const refused = witnesses.filter((one) => isRefusedBySource(channelOf(one, looks)))
  if (refused.length > 0)
    return { kind: 'unreachable', look, why: say`${words}; ${namesOf(refused)} reached it and was refused` }
  const hearing = witnesses.filter((one) => io(one) === 'yes')
  if (hearing.length > 0) {
    const timeout = Math.max(...hearing.map(({ server }) => server.netTimeoutSeconds))
    return {
      ...{ kind: 'unreachable', look },
      why: say`${words}; ${namesOf(hearing)} still ${hearing.length === 1 ? say`shows` : say`show`} a connection (after ${timeout} s of silence no more)`,
    }
  }
  const lost = witnesses.filter((one) => io(one) === 'connecting')
  if (lost.length > 0) return { kind: 'dead', look, why: say`${words}, and ${namesOf(lost)} lost it` }
  const nobody = followers.length === 0 ? say`nobody follows it` : say`none of its replicas can testify`
  return { kind: 'unknown', look, why: say`${words}, and ${nobody}` }
}

/** The source answered, if only to refuse: it lives. */
function isRefusedBySource(channel: SeenChannel | undefined): boolean {
  return channel?.io === 'connecting' && isAnswerOfSource(channel.ioErrno)
}

export function follows(look: Look, source: Look, looks: readonly Look[]): boolean {
  const channel = channelOf(look, looks)
  return look !== source && channel !== undefined && sourceOf(channel, looks) === source
}

/** Directly, or through others; all between answer, as the receiver does. */
export function receivesFrom(look: Look, source: Look, looks: readonly Look[]): boolean {
  const seen = new Set<Look>([source])
  let at: Look | undefined = look
  while (at !== undefined && !seen.has(at) && answers(at)) {
    if (follows(at, source, looks)) return true
    seen.add(at)
    const channel = channelOf(at, looks)
    at = channel && sourceOf(channel, looks)
  }
  return false
}

function namesOf(looks: readonly Look[]): Sentence {
  return say`${allOf(looks.map(({ host }) => host.instance))}`
}

/** How a look went, as the middle of a sentence. */
function reachWords({ reach }: Look): Sentence {
  switch (reach) {
    case null:
      return say`it was not looked at yet`
    case 'answers':
      return say`it answers`
    case 'full':
      return say`it lives, with too many connections`
    case 'lockedOut':
      return say`it lives, and refuses Regent’s account`
    case 'refused':
      return say`nobody listens there`
    case 'silent':
      return say`it does not answer`
    case 'unresolved':
      return say`its name has no address`
    case 'noMysql':
      return say`what listens there is no MySQL`
    case 'unasked':
      return say`Regent could not ask it`
  }
}

/** The same with what the server or the system said. */
export function reachInFull(look: Look): Sentence {
  const words = reachWords(look)
  return look.why === '' ? words : say`${words} (${text(abbreviated(look.why))})`
}
